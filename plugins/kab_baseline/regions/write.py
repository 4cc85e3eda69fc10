"""Writing the kernel file of a region, or saying why there is none."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble_text
from kab_baseline.layout import indented, wrap
from kab_baseline.regions import attention_frame, product_frame, row_frame
from kab_baseline.regions.analysis import analyse
from kab_baseline.regions.attention import find_attention
from kab_baseline.regions.axes import Unfusable
from kab_baseline.regions.body import Body
from kagent_bench.model.program import NodeRef

if TYPE_CHECKING:
    from kagent_bench.model.program import Output, Program

FUNCTION = "kernel_function"
_RESERVED = frozenset(
    """
    torch triton tl math struct itertools functools merged layout row column mask start inner batch tile program product left right count
    result shape dims compute n_rows n_columns n_programs row_mask place_batch place_column
    inside image channel source mean query key value place depth largest total scores weights bound shift share
    batch_shape row_shape column_shape inner_shape depth_shape
    """.split()
)
"""Names that the kernel or its host function use themselves."""
_TEMPORARY = re.compile(r"(out_|[a-z])\d+")


def write(program: Program) -> str:
    """Return the kernel file of a region: ``kernel_function`` with its inputs and weights as parameters.

    Raises:
        Unfusable: this generator has no kernel for it.
    """
    for item in (*program.inputs, *program.state):
        if item.facts is None:
            raise Unfusable(f"argument {item.name} is no tensor")
        if 0 in item.facts.shape:
            raise Unfusable("a tensor without elements")
    program = _renamed(program)
    attention = find_attention(program)
    if attention is not None:
        kernel, lines = attention_frame.write_attention(attention)
        layout: list[str] = []
        places = {attention.result: "out_0"}
    else:
        kernel, layout, lines, places = _analysed(program)
    lines.append(f"return {_returned(program.output, places)}")
    parameters = [item.name for item in (*program.inputs, *program.state)]
    host = "\n".join([*layout, "", "", ""]) if layout else ""
    host += wrap(f"def {FUNCTION}", parameters, ":") + "\n" + indented("\n".join(lines), 4)
    listing = "\n".join(f"    {node.operator} -> {node.name}" for node in program.nodes)
    head = f'"""One kernel for {len(program.nodes)} calls:\n\n{listing}\n"""\n'
    return assemble_text(head, [kernel], host, {})


def _analysed(program: Program) -> tuple[str, list[str], list[str], dict[str, str]]:
    """Return a kernel, the constants and lines of its host function, and what values are called there."""
    found = analyse(program)
    body = Body(found)
    base = "_".join(
        dict.fromkeys(_word(node.operator) for node in program.nodes if node.operator != "getitem")
    )
    name = f"{base[:60].strip('_')}_kernel"
    places = {value: f"out_{index}" for index, value in enumerate(found.outputs)}
    if found.product is None:
        kernel, layout, lines = row_frame.write_rows(found, body, name)
        return kernel, layout, lines, places
    kernel, lines = product_frame.write_product(found, body, name)
    return kernel, [], lines, places


def _returned(output: Output, places: dict[str, str]) -> str:
    if isinstance(output, NodeRef):
        return places[output.name]
    if isinstance(output, tuple):
        return f"({''.join(_returned(item, places) + ', ' for item in output).strip()})"
    return repr(output)


def _word(operator: str) -> str:
    return operator.split(".")[1].strip("_")


def _renamed(program: Program) -> Program:
    """Return a program whose names clash with none that kernels use."""
    from kagent_bench.model.rename import renamed

    names = [item.name for item in (*program.inputs, *program.state)] + [node.name for node in program.nodes]
    taken: set[str] = set()
    new: dict[str, str] = {}
    for name in names:
        plain = (
            name
            if name not in _RESERVED and not keyword.iskeyword(name) and not _TEMPORARY.fullmatch(name)
            else f"{name}_value"
        )
        while plain in taken:
            plain += "_"
        taken.add(plain)
        new[name] = plain
    return renamed(program, new)
