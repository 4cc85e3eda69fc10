# Three launches in a row, through workspaces.
import torch
import triton
import triton.language as tl


@triton.jit
def _relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=at < n)


@triton.jit
def _neg(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, -tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)
@triton.jit
def _min0(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.where((x < 0) | (x != x), x, 0.0), mask=at < n)
def relu__default_kernel_impl(x):
    x = x.contiguous(); a = torch.empty_like(x); b = torch.empty_like(x); n = x.numel()
    if n:
        g = (triton.cdiv(n, 256),)
        _neg[g](x, a, n, BLOCK=256); _min0[g](a, b, n, BLOCK=256); _neg[g](b, a, n, BLOCK=256)
    return a
