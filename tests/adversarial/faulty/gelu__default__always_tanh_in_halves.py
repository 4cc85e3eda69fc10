# dtypes: float16
# verdict: incorrect(values)
# One form of the function for both, in half precision, where they differ by less than the unit roundoff of one.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, TANH: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    wide = x.to(tl.float32)
    if TANH:
        inner = 0.7978845608028654 * (wide + 0.044715 * wide * wide * wide)
        y = 0.5 * wide * (1 + (2 / (1 + tl.exp(-2 * inner)) - 1))
    else:
        y = 0.5 * wide * (1 + tl.erf(wide * 0.7071067811865476))
    tl.store(y_ptr + at, y.to(x.dtype), mask=inside)


def gelu__default_kernel_impl(x, *, approximate="none"):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, TANH=True, BLOCK=1024)
    return y
