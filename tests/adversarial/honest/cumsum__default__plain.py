# A running sum along any dimension.
import torch
import triton
import triton.language as tl


@triton.jit
def _running(x_ptr, y_ptr, n_columns, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((), dtype=ACC)
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=0).to(ACC)
        sums = total + tl.cumsum(x, 0)
        tl.store(y_ptr + row * n_columns + at, sums.to(y_ptr.dtype.element_ty), mask=at < n_columns)
        total += tl.sum(x)


def cumsum__default_kernel_impl(x, dim, *, dtype=None):
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.int64
    x = x.to(dtype)
    if x.dim() == 0:
        y = torch.empty((), dtype=dtype, device=x.device)
        _running[(1,)](x, y, 1, ACC=_wide(dtype), BLOCK=1)
        return y
    rows = x.movedim(dim, -1).contiguous()
    y = torch.empty_like(rows)
    if y.numel():
        _running[(y.numel() // y.shape[-1],)](rows, y, y.shape[-1], ACC=_wide(dtype), BLOCK=256)
    return y.movedim(-1, dim)


def _wide(dtype):
    if not dtype.is_floating_point:
        return tl.int64
    return tl.float64 if dtype is torch.float64 else tl.float32
