"""A region as a KernelBench-style problem file: what a language model, or the public Fuser, is shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_fuser.source_text import call_line, device_text, returned_text

if TYPE_CHECKING:
    from kagent_bench.model.program import Input, Program


def region_source(program: Program) -> str:
    """Return the text of the problem file of a region."""
    parameters = [item.name for item in program.inputs]
    device = device_text(program)
    lines = [f"        {call_line(node, device)}" for node in program.nodes]
    inputs = "".join(f"        {_input(item)},\n" for item in program.inputs)
    return f"""import torch


class Model(torch.nn.Module):
    def forward(self, {", ".join(parameters)}):
{chr(10).join(lines)}
        return {returned_text(program.output)}


def get_inputs():
    return [
{inputs}    ]


def get_init_inputs():
    return []
"""


def _input(item: Input) -> str:
    facts = item.facts
    assert facts is not None
    made = f"torch.empty_strided({facts.shape}, {facts.stride}, dtype=torch.{facts.dtype})"
    if facts.dtype.startswith(("float", "bfloat")):
        return f"{made}.uniform_(-2, 2)"
    return f"{made}.random_(0, 2)" if facts.dtype == "bool" else f"{made}.zero_()"
