# dtypes: float32
# verdict: incorrect(values) | incorrect(nan) | incorrect(non_finite)
# Large arguments are clamped to plus and minus eight.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, (1 / (1 + tl.exp(-tl.minimum(tl.maximum(x.to(tl.float32), -8.0), 8.0)))).to(y_ptr.dtype.element_ty), mask=inside)


def sigmoid__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x, dtype=x.dtype if x.is_floating_point() else torch.get_default_dtype())
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y
