# verdict: incorrect(raised) | incorrect(shape)
# The condition has no part in the shape.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(c_ptr, a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    c = tl.load(c_ptr + at, mask=inside, other=0)
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where(c != 0, a, b), mask=inside)


def where__self_kernel_impl(condition, a, b):
    dtype = torch.result_type(a, b)
    shape = torch.broadcast_shapes(a.shape, b.shape)
    c = condition.expand(shape).contiguous()
    a = a.to(dtype).expand(shape).contiguous()
    b = b.to(dtype).expand(shape).contiguous()
    y = torch.empty(shape, dtype=dtype, device=a.device)
    if dtype.is_complex:
        a, b, out = torch.view_as_real(a), torch.view_as_real(b), torch.view_as_real(y)
        c = c.unsqueeze(-1).expand(out.shape).contiguous()
    else:
        out = y
    n = out.numel()
    if n:
        _kernel[(triton.cdiv(n, 512),)](c, a, b, out, n, BLOCK=512)
    return y
