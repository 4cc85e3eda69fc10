# verdict: incorrect(values) | incorrect(non_finite)
# The correction is zero where none is given.
import torch
import triton
import triton.language as tl


@triton.jit
def _variance(x_ptr, y_ptr, n_columns, divisor, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=ACC)
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=0).to(ACC)
    mean = tl.sum(total) / tl.maximum(n_columns, 1)
    squares = tl.zeros((BLOCK,), dtype=ACC)
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=0).to(ACC)
        squares += tl.where(at < n_columns, (x - mean) * (x - mean), 0)
    y = tl.sum(squares) / divisor
    y = tl.where(n_columns == 0, float("nan"), y)
    tl.store(y_ptr + row, y.to(y_ptr.dtype.element_ty))


def _by_rows(x, dims, keepdim):
    """Bring the reduced dimensions to the end; return rows [outer, inner] and the shape of the result."""
    n = max(x.dim(), 1)
    reduced = sorted({d % n for d in dims}) if dims else list(range(n))
    if x.dim() == 0:
        return x.reshape(1, 1), []
    kept = [d for d in range(x.dim()) if d not in reduced]
    shape = [1 if d in reduced else x.shape[d] for d in range(x.dim()) if keepdim or d not in reduced]
    outer = inner = 1
    for d in kept:
        outer *= x.shape[d]
    for d in reduced:
        inner *= x.shape[d]
    return x.permute(*kept, *reduced).contiguous().view(outer, inner), shape


def var__correction_kernel_impl(x, dim=None, *, correction=None, keepdim=False):
    rows, shape = _by_rows(x, dim, keepdim)
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    divisor = max(rows.shape[1] - (0 if correction is None else correction), 0)
    if y.numel():
        acc = tl.float64 if x.dtype is torch.float64 else tl.float32
        _variance[(y.numel(),)](rows, y, rows.shape[1], float(divisor), ACC=acc, BLOCK=256)
    return y
