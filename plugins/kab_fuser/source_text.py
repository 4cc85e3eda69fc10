"""Programs as Python source over ``torch.ops.aten``, for composed files, statements and self-tests."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.program import GET_ITEM, NodeRef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.parameters import Parameters
    from kagent_bench.model.program import Node, Program

_METHODS = frozenset(
    ["view", "reshape", "permute", "expand", "unsqueeze", "squeeze", "transpose", "t", "select"]
)
"""Views that are written as methods of their argument."""
_AS_METHOD = frozenset(
    [
        "aten.view.default", "aten.reshape.default", "aten.permute.default", "aten.expand.default",
        "aten.unsqueeze.default", "aten.transpose.int", "aten.t.default", "aten.select.int",
    ]
)  # fmt: skip


def call_line(node: Node, device: str) -> str:
    """Return a call as an assignment.

    Args:
        node: the call.
        device: expression of the device under test.
    """
    return f"{node.name} = {call_text(node, device)}"


def call_text(node: Node, device: str) -> str:
    """Return a call as an expression."""
    if node.operator == GET_ITEM:
        return f"{value_text(node.args[0], device)}[{value_text(node.args[1], device)}]"
    given = [value_text(value, device) for value in node.args]
    given += [f"{name}={value_text(value, device)}" for name, value in node.kwargs]
    if node.operator in _AS_METHOD and isinstance(node.args[0], NodeRef):
        # What the library returns may lie otherwise on another device: then a view takes a copy.
        method = node.operator.split(".")[1].replace("view", "reshape")
        return f"{given[0]}.{method}({', '.join(given[1:])})"
    return f"torch.ops.{node.operator}({', '.join(given)})"


def value_text(value: Any, device: str) -> str:
    """Return an argument as source."""
    if isinstance(value, NodeRef):
        return value.name
    if isinstance(value, SymbolSpec):
        if value.kind == "device":
            return device
        return f"torch.{value.name}"
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item, device) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def program_function(program: Program, name: str, parameters: Parameters, first: Sequence[str]) -> str:
    """Return a program as a function.

    Args:
        program: the program.
        name: the function's name.
        parameters: how it takes its arguments; its state follows.
        first: lines that come before the calls.
    """
    given = [*parameters.names, *(item.name for item in program.state)]
    device = device_text(program)
    lines = [f"    {text}" for text in (*parameters.unpacked, *first)]
    lines += [f"    {call_line(node, device)}" for node in program.nodes]
    lines += [f"    {target}.copy_({source})" for target, source in program.writes]
    lines.append(f"    return {returned_text(program.output)}")
    return f"def {name}({', '.join(given)}):\n" + "\n".join(lines) + "\n"


def device_text(program: Program) -> str:
    """Return the expression of the device under test: that of the first tensor."""
    first = next((item.name for item in (*program.inputs, *program.state) if item.facts is not None), None)
    return f"{first}.device" if first else '"cpu"'


def returned_text(output: Any) -> str:
    """Return what a program returns as source."""
    if isinstance(output, tuple):
        return f"({''.join(returned_text(item) + ', ' for item in output).strip()})"
    return output.name if isinstance(output, NodeRef) else repr(output)
