# dtypes: float32, int64
# verdict: incorrect(non_finite)
# NaN wins only on the left.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((b > a) & (b == b), b, a) if a.dtype == tl.float32 else tl.where(a > b, a, b), mask=inside)


def maximum__default_kernel_impl(a, b):
    dtype = torch.result_type(a, b)
    device = next((x.device for x in (a, b) if isinstance(x, torch.Tensor)), None)
    a, b = (x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype, device=device) for x in (a, b))
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a = a.to(dtype).expand(shape).contiguous()
    b = b.to(dtype).expand(shape).contiguous()
    y = torch.empty(shape, dtype=dtype, device=device)
    n = y.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](a, b, y, n, BLOCK=256)
    return y
