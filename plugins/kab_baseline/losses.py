"""The loss frame: the pointwise frame for each element, the row frame for a mean or a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_baseline import pointwise, rows
from kab_baseline.assembly import assemble
from kab_baseline.definition import Pointwise, RowResult, Rows, Variant
from kab_baseline.layout import indented
from kab_baseline.primitives import parameter_names, row_sum
from kab_baseline.signature import Signature, Writes

if TYPE_CHECKING:
    from kab_baseline.definition import Loss


def supports(definition: Loss, signature: Signature) -> bool:
    """Whether the overload has the formula's operands, a reduction, and allocates its result."""
    names = {item.name for item in signature.inputs}
    wanted = {*parameter_names(definition.body), "reduction"}
    return wanted == names and signature.writes is Writes.NEW


def write(definition: Loss, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    names = parameter_names(definition.body)

    def mean(*operands: Any) -> Any:
        return row_sum(definition.body(*operands[:-1])) / operands[-1]

    def total(*operands: Any) -> Any:
        return row_sum(definition.body(*operands))

    element = Pointwise(
        summary=definition.summary, variants=(Variant(name="element", when="", body=definition.body),)
    )
    tensors = tuple(item.name for item in signature.inputs if item.is_tensor)
    reduced = Rows(
        summary=definition.summary,
        variants=(
            Variant(name="mean", when="reduction == 1", body=mean, names=(*names, "count")),
            Variant(name="sum", when="", body=total, names=names),
        ),
        results=(RowResult(name="out", dtype="dtype"),),
        operands=tensors,
        shape=f"tuple(torch.broadcast_shapes({', '.join(f'{name}.shape' for name in tensors)}))",
        dims="tuple(range(len(shape)))",
        keepdim="False",
        dtype=f"torch.result_type({', '.join(tensors)})",
    )
    element_kernels, element_body = pointwise.parts(element, signature)
    reduced_kernels, reduced_body = rows.parts(reduced, signature)
    body = f"if reduction == 0:\n{indented(element_body, 4)}\n{reduced_body}"
    constants = {"BLOCK": pointwise.BLOCK, "TILE": rows.TILE}
    return assemble(
        signature, definition.summary, [*element_kernels, *reduced_kernels], body, constants=constants
    )
