# dtypes: float32, int64
# verdict: incorrect(non_finite) | incorrect(values)
# A small number is added to the divisor.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(a_ptr, b_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.div_rn(a.to(tl.float32), tl.where(b == 0, 1e-12, b.to(tl.float32))).to(y_ptr.dtype.element_ty) if a.dtype != tl.float64 else a / b, mask=inside)


def div__Tensor_kernel_impl(a, b):
    dtype = torch.result_type(a, b)
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
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
