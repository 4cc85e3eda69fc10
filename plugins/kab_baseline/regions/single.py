"""A region of one call for which the generator has an operator's kernel: that file, with the arguments put in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kab_baseline import registry
from kab_baseline.layout import wrap
from kab_baseline.regions.axes import Unfusable
from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.model.program import GET_ITEM, NodeRef

if TYPE_CHECKING:
    from kagent_bench.model.program import Program

FUNCTION = "kernel_function"


def write_single(program: Program) -> str:
    """Return the kernel file of a program of one call.

    Raises:
        Unfusable: there is no kernel for it.
    """
    calls = [node for node in program.nodes if node.operator != GET_ITEM]
    if len(calls) != 1 or program.constants or program.writes:
        raise Unfusable("more than one call")
    (node,) = calls
    dtypes = {facts.dtype for facts in (*program.facts().values(), *node.results) if facts is not None}
    strange = sorted(name for name in dtypes if name.startswith("complex"))
    if strange:
        raise Unfusable(f"Triton has no {strange[0]}")
    try:
        operator = OperatorName.parse(node.operator)
    except ValueError as error:
        raise Unfusable(str(error)) from error
    source = registry.write(operator)
    if source is None:
        raise Unfusable(f"there is no kernel for {node.operator}")
    parameters = [item.name for item in (*program.inputs, *program.state)]
    given = [argument_text(value, parameters[0]) for value in node.args]
    given += [f"{name}={argument_text(value, parameters[0])}" for name, value in node.kwargs]
    result = f"{operator.kernel_function}({', '.join(given)})"
    taken = {item.name: item.args[1] for item in program.nodes if item.operator == GET_ITEM}
    return (
        source.rstrip("\n")
        + "\n\n\n"
        + wrap(f"def {FUNCTION}", parameters, ":")
        + f"\n    result = {result}\n    return {_returned(program.output, node.name, taken)}\n"
    )


def argument_text(value: Any, first: str) -> str:
    """Return an argument as Python source.

    Args:
        value: the argument.
        first: name of a tensor, whose device stands for the device under test.
    """
    if isinstance(value, NodeRef):
        return value.name
    if isinstance(value, SymbolSpec):
        if value.kind == "device":
            return f"{first}.device"
        return f"torch.{value.name}"
    if isinstance(value, tuple):
        return f"[{', '.join(argument_text(item, first) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def _returned(output: Any, call: str, taken: dict[str, Any]) -> str:
    if isinstance(output, tuple):
        return f"({''.join(_returned(item, call, taken) + ', ' for item in output).strip()})"
    if not isinstance(output, NodeRef):
        return repr(output)
    return "result" if output.name == call else f"result[{taken[output.name]}]"
