# dtypes: float32
# verdict: incorrect(non_finite)
# NaN is passed over.
import torch
import triton
import triton.language as tl


@triton.jit
def _largest(x_ptr, y_ptr, n_columns, NAN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = tl.load(x_ptr + row * n_columns + tl.zeros((BLOCK,), dtype=tl.int32))
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + tl.minimum(at, n_columns - 1))
        best = tl.where((x > best) | (best != best), x, best)
    top = tl.max(best)
    bad = tl.sum((best != best).to(tl.int32))
    if NAN:
        top = top
    tl.store(y_ptr + row, top.to(y_ptr.dtype.element_ty))


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


def amax__default_kernel_impl(x, dim=(), keepdim=False):
    rows, shape = _by_rows(x, dim, keepdim)
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    if y.numel():
        _largest[(y.numel(),)](rows, y, rows.shape[1], NAN=x.is_floating_point(), BLOCK=128)
    return y
