# Launches its second kernel for as many programs as the first one counted.
import torch
import triton
import triton.language as tl


@triton.jit
def _count(n_ptr, n, BLOCK: tl.constexpr):
    tl.store(n_ptr, (n + BLOCK - 1) // BLOCK)


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    if x.numel():
        programs = torch.empty(1, dtype=torch.int32, device=x.device)
        _count[(1,)](programs, x.numel(), BLOCK=512)
        number = programs.item()
        assert 0 < number <= x.numel()
        _kernel[(number,)](x, y, x.numel(), BLOCK=512)
    return y
