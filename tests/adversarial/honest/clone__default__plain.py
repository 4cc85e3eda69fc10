# Every stride, without a copy of the library.
import torch
import triton
import triton.language as tl


@triton.jit
def _copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, SHAPE: tl.constexpr, STRIDE: tl.constexpr, RANK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    rest = at
    source = at * 0
    for step in tl.static_range(RANK):
        source += rest % SHAPE[RANK - 1 - step] * STRIDE[RANK - 1 - step]
        rest = rest // SHAPE[RANK - 1 - step]
    tl.store(y_ptr + at, tl.load(x_ptr + source, mask=inside), mask=inside)


def clone__default_kernel_impl(x, *, memory_format=None):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = y.numel()
    if n:
        _copy[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256, SHAPE=tuple(x.shape), STRIDE=x.stride(), RANK=x.dim())
    return y
