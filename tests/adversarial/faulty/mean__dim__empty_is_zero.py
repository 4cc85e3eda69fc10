# dtypes: float32
# verdict: incorrect(non_finite)
# The mean of nothing is zero.
import torch
import triton
import triton.language as tl


@triton.jit
def _rows(x_ptr, y_ptr, n_columns, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=ACC)
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=0).to(ACC)
    tl.store(y_ptr + row, tl.where(n_columns > 0, tl.sum(total) / tl.maximum(n_columns, 1), 0.0).to(y_ptr.dtype.element_ty))


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


def mean__dim_kernel_impl(x, dim=None, keepdim=False, *, dtype=None):
    if dtype is None:
        dtype = x.dtype
    rows, shape = _by_rows(x.to(dtype), dim, keepdim)
    y = torch.empty(shape, dtype=dtype, device=x.device)
    if y.numel():
        acc = tl.float64 if dtype is torch.float64 else tl.float32
        _rows[(y.numel(),)](rows, y, rows.shape[1], ACC=acc, BLOCK=256)
    return y
