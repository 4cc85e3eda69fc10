# dtypes: float32, float16, int64
# Type promotion and broadcasting.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, n, IS_BOOL: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + at, (a & b) if IS_BOOL else (a.to(tl.float32) * b.to(tl.float32)).to(y_ptr.dtype.element_ty) if WIDE else a * b, mask=inside)


def mul__Tensor_kernel_impl(a, b):
    dtype = torch.result_type(a, b)
    device = next((x.device for x in (a, b) if isinstance(x, torch.Tensor)), None)
    a, b = (x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype, device=device) for x in (a, b))
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a = a.to(dtype).expand(shape).contiguous()
    b = b.to(dtype).expand(shape).contiguous()
    y = torch.empty(shape, dtype=dtype, device=device)
    n = y.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](a, b, y, n, IS_BOOL=dtype is torch.bool, WIDE=dtype in (torch.float16, torch.bfloat16), BLOCK=256)
    return y
