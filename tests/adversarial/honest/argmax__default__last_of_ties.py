# The last of equal elements: which one is left open.
import torch
import triton
import triton.language as tl


@triton.jit
def _place(x_ptr, y_ptr, n_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    place = lane
    best = tl.load(x_ptr + row * n_columns + lane, mask=lane < n_columns, other=-float("inf"))
    for start in range(BLOCK, n_columns, BLOCK):
        at = start + lane
        x = tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=-float("inf"))
        better = ((x >= best) | ((x != x) & (best == best))) & (at < n_columns)
        best = tl.where(better, x, best)
        place = tl.where(better, at, place)
    bad = best != best
    top = tl.max(tl.where(bad, -float("inf"), best))
    wins = tl.where(tl.max(bad.to(tl.int32)) > 0, bad, best == top) & (lane < n_columns)
    tl.store(y_ptr + row, tl.max(tl.where(wins, place, -1)))


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


def argmax__default_kernel_impl(x, dim=None, keepdim=False):
    rows, shape = _by_rows(x, None if dim is None else (dim,), keepdim)
    y = torch.empty(shape, dtype=torch.int64, device=x.device)
    if y.numel():
        _place[(y.numel(),)](rows, y, rows.shape[1], BLOCK=128)
    return y
