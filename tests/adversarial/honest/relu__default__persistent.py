# dtypes: float32
# A few programs walk over all blocks.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for block in range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        inside = at < n
        x = tl.load(x_ptr + at, mask=inside)
        tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0).to(x.dtype), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(4,)](x, y, n, BLOCK=1024)
    return y
