# dtypes: int64
# The sign of the divisor, as Python has it.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, n, FLOAT: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    if FLOAT:
        a = a.to(tl.float64)
        b = b.to(tl.float64)
        y = tl.where(tl.abs(b) == float('inf'), a, a - tl.floor(a / b) * b)
        y = tl.where((y != 0) & ((y < 0) != (b < 0)), y + b, y)
    else:
        y = a % b
        y = tl.where((y != 0) & ((y < 0) != (b < 0)), y + b, y)
    tl.store(y_ptr + at, y.to(y_ptr.dtype.element_ty), mask=inside)


def remainder__Tensor_kernel_impl(a, b):
    dtype = torch.result_type(a, b)
    device = next((x.device for x in (a, b) if isinstance(x, torch.Tensor)), None)
    a, b = (x if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype, device=device) for x in (a, b))
    shape = torch.broadcast_shapes(a.shape, b.shape)
    a = a.to(dtype).expand(shape).contiguous()
    b = b.to(dtype).expand(shape).contiguous()
    y = torch.empty(shape, dtype=dtype, device=device)
    n = y.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](a, b, y, n, FLOAT=dtype.is_floating_point, BLOCK=256)
    return y
