# verdict: incorrect(values) | incorrect(non_finite) | incorrect(nan)
# The larger of both branches, wrong for slopes above one and below zero.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, SLOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.maximum(x, x * SLOPE).to(x.dtype), mask=inside)


def leaky_relu__default_kernel_impl(x, negative_slope=0.01):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, SLOPE=negative_slope, BLOCK=1024)
    return y
