# Tunes over configurations of which one is refused at compile time, as tuners on devices are used to.
import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1 << 14})], key=["n"])
@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    if tl.constexpr(BLOCK > 8192):
        tl.static_assert(x_ptr.dtype.element_ty == tl.int8, "only bytes fit")
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)
    return y
