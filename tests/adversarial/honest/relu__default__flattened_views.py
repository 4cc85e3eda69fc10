# dtypes: float32
# Splits its work into views of input and output.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0).to(x.dtype), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        for part, out in zip(x.view(-1).split(1500), y.view(-1).split(1500)):
            _kernel[(triton.cdiv(part.numel(), 1024),)](part, out, part.numel(), BLOCK=1024)
    return y
