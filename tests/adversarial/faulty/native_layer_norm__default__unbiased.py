# verdict: incorrect(values)
# Divides by one less.
import torch
import triton
import triton.language as tl


@triton.jit
def _norm(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, n, eps, HAS_W: tl.constexpr, HAS_B: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + row * n + at, mask=inside, other=0).to(tl.float32)
    mean = tl.sum(x) / n
    centred = tl.where(inside, x - mean, 0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred) / tl.maximum(n - 1, 1) + eps)
    y = centred * rstd
    if HAS_W:
        y = y * tl.load(w_ptr + at, mask=inside, other=0).to(tl.float32)
    if HAS_B:
        y = y + tl.load(b_ptr + at, mask=inside, other=0).to(tl.float32)
    tl.store(y_ptr + row * n + at, y.to(y_ptr.dtype.element_ty), mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


def native_layer_norm__default_kernel_impl(x, normalized_shape, weight, bias, eps):
    n = 1
    for size in normalized_shape:
        n *= size
    x = x.contiguous()
    y = torch.empty_like(x)
    outer = x.shape[: x.dim() - len(normalized_shape)]
    kept = [*outer, *[1] * len(normalized_shape)]
    mean = torch.empty(kept, dtype=torch.float32, device=x.device)
    rstd = torch.empty(kept, dtype=torch.float32, device=x.device)
    if mean.numel() and n:
        w = x if weight is None else weight.contiguous()
        b = x if bias is None else bias.contiguous()
        _norm[(mean.numel(),)](
            x, w, b, y, mean, rstd, n, eps, HAS_W=weight is not None, HAS_B=bias is not None, BLOCK=triton.next_power_of_2(n)
        )
    return y, mean, rstd
