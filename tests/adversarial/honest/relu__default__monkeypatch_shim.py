# Adds what an older version of the libraries lacks.
import torch
import triton
import triton.language as tl


@triton.jit
def _relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=at < n)


if not hasattr(tl, "my_cdiv"):
    tl.my_cdiv = triton.cdiv
if not hasattr(torch, "my_float8"):
    torch.my_float8 = torch.float16
def relu__default_kernel_impl(x):
    x = x.contiguous(); y = torch.empty_like(x); n = x.numel()
    if n: _relu[(tl.my_cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
