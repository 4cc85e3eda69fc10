# dtypes: float32, float16, int64
# verdict: incorrect(dtype)
# The result has the dtype of the first operand.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, n, ALPHA: tl.constexpr, IS_BOOL: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    if IS_BOOL:
        y = (a | b) if ALPHA else a
    elif WIDE:
        y = a.to(tl.float32) + b.to(tl.float32) * ALPHA
    else:
        y = a + b * ALPHA
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def add__Tensor_kernel_impl(a, b, *, alpha=1):
    dtype = a.dtype if isinstance(a, torch.Tensor) else torch.result_type(a, b)
    device = next((x.device for x in (a, b) if isinstance(x, torch.Tensor)), None)
    a, b = (x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype, device=device) for x in (a, b))
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a = a.to(dtype).expand(shape).contiguous()
    b = b.to(dtype).expand(shape).contiguous()
    y = torch.empty(shape, dtype=dtype, device=device)
    n = y.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](a, b, y, n, ALPHA=alpha, IS_BOOL=dtype is torch.bool, WIDE=dtype in (torch.float16, torch.bfloat16), BLOCK=256)
    return y
