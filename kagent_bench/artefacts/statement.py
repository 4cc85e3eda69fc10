"""Writes the problem statement: everything that a kernel author needs to know about one operator, in Markdown."""

from __future__ import annotations

from collections import Counter
from textwrap import indent
from typing import TYPE_CHECKING

from kagent_bench.artefacts.case_source import VALUE_FREE_KINDS
from kagent_bench.artefacts.documentation import find_documentation
from kagent_bench.artefacts.schema import OperatorSchema, read_schema
from kagent_bench.model.call_text import call_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kagent_bench.model.case import Case
    from kagent_bench.model.names import OperatorName

_KINDS = {
    "random": "Results are random: shape, dtype, strides and aliasing are judged, values are not.",
    "metadata": "Results have no defined values: shape, dtype, strides and aliasing are judged.",
    "creation": "The operator makes a tensor from scalars; its values are judged.",
    "view": "The operator returns a view: it must share memory with its argument.",
    "data_dependent": "The shape of the result depends on values of the arguments.",
}
"""What is to be said of a kind of operator other than ``value``."""
_TAG_SEMANTICS = {
    "pointwise": "Elementwise: tensor arguments are broadcast against each other.",
    "reduction": "A reduction: mind `keepdim`, negative and empty `dim`, and dimensions of size zero.",
}
"""What is to be said of an operator with one of PyTorch's tags."""


def write_statement(
    operator: OperatorName, kind: str, cases: Sequence[Case], tolerance: Mapping[str, float]
) -> str:
    """Return the problem statement of an operator, the same for the same arguments and the same torch.

    Args:
        operator: The operator.
        kind: How it can be judged, see ``model.selection.OperatorCases``.
        cases: The cases to show; the caller leaves out the held-out ones.
        tolerance: Tolerance factor by torch's dtype name.

    Raises:
        InputError: the installed torch has no such operator.
    """
    schema = read_schema(operator)
    parts = [
        f"# {operator}",
        f"Write a Triton kernel that does what PyTorch's operator `aten.{operator}` does.",
        f"## Schema\n\n    {schema.text}",
        *_documentation(operator),
        "## Semantics\n\n" + "\n".join(f"- {line}" for line in _semantics(schema, kind)),
        _kernel_file(operator, schema),
        *([] if kind in VALUE_FREE_KINDS else [_tolerance(cases, tolerance)]),
        _cases(operator, cases),
    ]
    return "\n\n".join(parts) + "\n"


def _documentation(operator: OperatorName) -> Iterator[str]:
    found = find_documentation(operator)
    if found is not None:
        lines = "\n".join(line.rstrip() for line in indent(found.text, "    ").splitlines())
        yield f"## PyTorch's documentation of `{found.function}`\n\n{lines}"


def _semantics(schema: OperatorSchema, kind: str) -> Iterator[str]:
    if kind in _KINDS:
        yield _KINDS[kind]
    yield from _contract(schema)
    for tag, text in _TAG_SEMANTICS.items():
        if tag in schema.tags:
            yield text
    yield "The result's dtype follows PyTorch's type promotion: Python scalars and 0-d tensors do not widen a dtype of their own category."
    yield "float16 and bfloat16 are computed in float32 and rounded once at the end, accumulations too; float64 in float64; integers exactly."
    yield "NaN, +inf, -inf and -0.0 in the arguments are ordinary values: NaN and infinities must come out exactly where PyTorch has them."
    yield "Arguments may have any strides (transposed, expanded with stride 0, with gaps), a storage offset, zero dimensions or zero elements. Nothing may be assumed to be contiguous or a multiple of a block size."
    yield "Memory that the schema does not mark as written, `(a!)`, must not change."


def _contract(schema: OperatorSchema) -> Iterator[str]:
    names = ", ".join(f"`{name}`" for name in schema.writes)
    if not schema.writes:
        viewed = [name for name in schema.returns if name]
        if viewed:
            yield f"Returns a view of `{viewed[0]}`, not a copy."
        else:
            yield "Returns new memory: no result may share memory with an argument."
    elif schema.out:
        yield f"Writes its results into {names}, resized to the result's shape if need be and through {'its' if len(schema.writes) == 1 else 'their'} strides, converted to {'its' if len(schema.writes) == 1 else 'their'} dtype where PyTorch can cast."
    else:
        yield f"Works in place: changes {names} through {'its' if len(schema.writes) == 1 else 'their'} own strides; shape and dtype stay."
    if schema.returns_written:
        yield f"Returns {names} itself: the same Python object, not a view or a copy."
    if len(schema.returns) > 1:
        yield f"Returns a tuple of {len(schema.returns)} values in the schema's order."
    if not schema.returns:
        yield "Returns None."


def _kernel_file(operator: OperatorName, schema: OperatorSchema) -> str:
    return f"""## The kernel file

One Python file, `{operator.kernel_stem}.py`, that needs nothing but `torch`, `triton` and the standard library, and exports

    def {operator.kernel_function}({schema.signature}):

- It is called exactly as `torch.ops.aten.{operator}` is: positional arguments first, keyword arguments by the schema's names.
- The work is done by functions under `@triton.jit` in this file, launched by the exported function.
- torch may allocate (`torch.empty`, `empty_like`, `empty_strided`), make views (`as_strided`, `expand`, `view`, ...) and tell metadata. It may not compute: no arithmetic, no reductions, no copies or conversions of data (`clone`, `contiguous` on strided data, `to`), no call of the operator itself. A kernel that lets the library compute is rejected.
- Results are `torch.Tensor` on the device of the arguments.
- The file must also run in Triton's interpreter (`TRITON_INTERPRET=1`), where there is no GPU: no `@triton.autotune`, no inline assembly.
- Importing the file does no work and prints nothing."""


def _tolerance(cases: Sequence[Case], tolerance: Mapping[str, float]) -> str:
    used = {storage.dtype for case in cases for storage in case.storages} | {case.dtype for case in cases}
    rows = [f"| {name} | {factor:g} |" for name, factor in sorted(tolerance.items()) if name in used]
    table = "\n".join(["| dtype of the result | factor |", "|---|---|", *rows])
    return f"""## Tolerance

An element passes if `|result - expected| <= factor * |expected|`, where `expected` is computed in float64. Where terms are added up (reductions, products of matrices), at most `factor` times their accumulated magnitude is granted on top. Integers and booleans are exact.

{table}"""


def _cases(operator: OperatorName, cases: Sequence[Case]) -> str:
    by_dtype = ", ".join(
        f"{name}: {count}" for name, count in sorted(Counter(case.dtype for case in cases).items())
    )
    lines = "\n".join(f"- `{case.id}` `{call_text(case)}`" for case in cases)
    return f"""## Development cases

{len(cases)} cases{f" ({by_dtype})" if cases else ""}. `test_{operator.folder}.py` holds them with their values and runs them. The verdict is given on these and on others that are not shown: other shapes, strides and values of the same kind.

Notation: `T([shape], dtype, [stride])`; the stride is left out where the tensor is contiguous.

{lines}""".rstrip()
