# dtypes: float32
# Asks its input many questions.
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
    assert x.is_floating_point() and not x.is_complex() and x.dim() >= 0 and x.layout is torch.strided
    assert torch.promote_types(x.dtype, x.dtype) is x.dtype and torch.can_cast(x.dtype, x.dtype)
    assert x.element_size() == x.dtype.itemsize and not torch.is_grad_enabled()
    x = x.detach().view_as(x).contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
