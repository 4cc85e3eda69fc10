"""Writes the problem statement of a module: its source, its graph, the call of the kernel, the tolerance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.model.call_text import DTYPE_ABBREVIATIONS
from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.eager_manifest import MANIFEST
from kagent_bench.model.parameters import parameters_of
from kagent_bench.model.program import GET_ITEM, NodeRef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.case import Case
    from kagent_bench.model.program import Argument, Input, Module, Node, Output, Program, TensorFacts


def write_module_statement(module: Module, case: Case, tolerance: Mapping[str, float]) -> str:
    """Return the problem statement of a module, the same for the same arguments.

    Args:
        module: the problem.
        case: its case: the concrete shapes, strides and dtypes.
        tolerance: Tolerance factor by torch's dtype name.
    """
    program = module.program
    used = sorted({storage.dtype for storage in case.storages} & set(tolerance))
    factors = "\n".join(f"| {name} | {tolerance[name]:g} |" for name in used)
    parameters = parameters_of(program, case)
    arguments = ", ".join((*parameters.names, *(item.name for item in program.state)))
    unpacked = "".join(f"- where `{text}`\n" for text in parameters.unpacked)
    return f"""# {module.name}

Write Triton kernels that do what this PyTorch module does in evaluation mode (`model.eval()`), for tensors of the given shapes.

## The module

```python
{module.source.rstrip()}
```

## Arguments

{_inputs(program.inputs, "argument") or "- none"}
{unpacked}{_inputs(program.state, "weight")}

Their values are drawn afresh for every call, weights included: derive nothing from weights while the file is loaded or the class is made.

## What it computes

Shapes are exact. `getitem` takes one of several results.

    {_listing(program)}

## The kernel file

One Python file, `{module.name.kernel_stem}.py`, that needs nothing but `torch`, `triton` and the standard library, and exports

    def {module.name.kernel_function}({arguments}):

which is called with the arguments by position and the weights by name, or, as in KernelBench, a class `ModelNew(torch.nn.Module)` with the constructor of `Model` and parameters and buffers of the same names.

- The work is done by functions under `@triton.jit` in this file.
- torch may allocate, make views and tell metadata. It may compute only what the file declares: a literal `{MANIFEST} = ("name", ...)` of node names or operators from the list above. What is declared counts as not covered by kernels.
- The file must also run in Triton's interpreter (`TRITON_INTERPRET=1`): no `@triton.autotune`, no inline assembly.
- Results have the shapes and dtypes above and are on the device of the arguments.

## Tolerance

An element passes if `|result - expected| <= factor * |expected|`, where `expected` is computed in float64, and on top at most `factor` times what rounding in every step of the module can add up to. Integers and booleans are exact.

| dtype | factor |
|---|---|
{factors}
"""


def _inputs(items: tuple[Input, ...], what: str) -> str:
    return "\n".join(
        f"- {what} `{item.name}`: {_facts(item.facts)}"
        + (f", `{item.paths[0]}` of the module" if item.paths else "")
        for item in items
    )


def _facts(facts: TensorFacts | None) -> str:
    if facts is None:
        return "not a tensor"
    return f"{DTYPE_ABBREVIATIONS[facts.dtype]}{list(facts.shape)}, strides {list(facts.stride)}"


def _listing(program: Program) -> str:
    lines = [node_text(node) for node in program.nodes]
    return "\n    ".join([*lines, f"return {value_text(program.output)}"])


def node_text(node: Node) -> str:
    """Return a node in words: ``relu = aten.relu.default(x)  # f32[4, 8]``."""
    if node.operator == GET_ITEM:
        call = f"{value_text(node.args[0])}[{value_text(node.args[1])}]"
    else:
        given = [value_text(value) for value in node.args]
        given += [f"{name}={value_text(value)}" for name, value in node.kwargs]
        call = f"{node.operator}({', '.join(given)})"
    shapes = ", ".join(
        f"{DTYPE_ABBREVIATIONS[facts.dtype]}{list(facts.shape)}"
        for facts in node.results
        if facts is not None
    )
    return f"{node.name} = {call}  # {shapes}"


def value_text(value: Argument | Output) -> str:
    """Return an argument in words."""
    if isinstance(value, NodeRef):
        return value.name
    if isinstance(value, SymbolSpec):
        return f"'{value.name}'" if value.kind == "device" else f"torch.{value.name}"
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    return repr(value)
