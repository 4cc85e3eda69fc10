# In place, for every layout; returns its argument.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, at_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    place = tl.load(at_ptr + at, mask=inside, other=0)
    x = tl.load(x_ptr + place, mask=inside)
    tl.store(x_ptr + place, -x, mask=inside)


def _places(x):
    """Offsets of the elements from the first one, whatever the strides are."""
    base = torch.arange(x.untyped_storage().nbytes() // x.element_size(), device=x.device)
    return base.as_strided(x.shape, x.stride(), 0).contiguous().view(-1)


def neg___default_kernel_impl(x):
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](x, _places(x), n, BLOCK=256)
    return x
