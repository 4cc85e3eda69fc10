"""The scan frame: one program for each block of rows, a carry from block to block of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline.assembly import assemble
from kab_baseline.rows import TILE
from kab_baseline.signature import Signature, Writes

if TYPE_CHECKING:
    from kab_baseline.definition import Scan

_KERNEL = """@triton.jit
def {name}_kernel(
    out_ptr,
    self_ptr,
    n_rows,
    n_columns,
    row_shape,
    out_row_strides,
    self_row_strides,
    out_step,
    self_step,
    COMPUTE: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    row_mask = row < n_rows
    self_row = self_ptr + offsets(row, row_shape, self_row_strides)
    out_row = out_ptr + offsets(row, row_shape, out_row_strides)
    carry = tl.full((ROWS, 1), {start}, COMPUTE)
    last = tl.arange(0, COLUMNS)[None, :] == COLUMNS - 1
    for start in range(0, n_columns, COLUMNS):
        column = start + tl.arange(0, COLUMNS).to(tl.int64)[None, :]
        mask = row_mask & (column < n_columns)
        self = tl.load(self_row + column * self_step, mask=mask, other={start}).to(COMPUTE)
        result = {scan}(self, axis=1) {combine} carry
        tl.store(out_row + column * out_step, result.to(out_ptr.dtype.element_ty), mask=mask)
        carry = tl.sum(tl.where(last, result, 0), axis=1, keep_dims=True)"""


def supports(signature: Signature) -> bool:
    """Whether the overload scans along ``dim``."""
    return {"self", "dim", "dtype"} <= signature.names and signature.n_results == 1


def write(definition: Scan, signature: Signature) -> str:
    """Return the kernel file of an overload."""
    name = signature.operator.base.strip("_")
    kernel = _KERNEL.format(
        name=name, start=definition.start, scan=definition.scan, combine=definition.combine
    )
    if signature.writes is Writes.NEW:
        allocation = "out = torch.empty(shape, dtype=dtype, device=self.device)"
    elif signature.writes is Writes.SELF:
        allocation = "out = self"
    else:
        allocation = "resize_result(out, shape, contiguous_strides(shape, range(len(shape) - 1, -1, -1)))"
    asked = "self.dtype" if signature.writes is Writes.SELF else "accumulate_dtype(self, dtype)"
    body = f"""shape = tuple(self.shape)
dims = reduced_dims(dim, self.dim())
dtype = {asked}
compute = compute_dtype(dtype)
{allocation}
n_rows, row_shape, n_columns, column_shape = row_shapes(shape, dims)
block_rows, block_columns = tile(n_rows, n_columns, 1024)
if n_rows and n_columns:
    {name}_kernel[(triton.cdiv(n_rows, block_rows),)](
        out,
        self,
        n_rows,
        n_columns,
        *flatten(row_shape, row_strides(out, shape, dims), row_strides(self, shape, dims)),
        *(sum(column_strides(tensor, shape, dims)) for tensor in (out, self)),
        COMPUTE=compute,
        ROWS=block_rows,
        COLUMNS=block_columns,
    )
return out"""
    return assemble(signature, definition.summary, [kernel], body, constants={"TILE": TILE})
