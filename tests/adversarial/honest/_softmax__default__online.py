# dtypes: float32
# Maximum and sum in one pass over blocks, then a second pass.
import torch
import triton
import triton.language as tl


@triton.jit
def _softmax(x_ptr, y_ptr, n_columns, ACC: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = tl.full((), -float("inf"), ACC)
    total = tl.zeros((), ACC)
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=-float("inf")).to(ACC)
        higher = tl.maximum(top, tl.max(x))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(x - higher))
        top = higher
    for start in range(0, n_columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_columns + at, mask=at < n_columns, other=-float("inf")).to(ACC)
        tl.store(y_ptr + row * n_columns + at, (tl.exp(x - top) / total).to(y_ptr.dtype.element_ty), mask=at < n_columns)


def _softmax__default_kernel_impl(x, dim, half_to_float):
    if x.dim() == 0:
        return _softmax__default_kernel_impl(x.reshape(1), 0, half_to_float).reshape(())
    rows = x.movedim(dim, -1).contiguous()
    y = torch.empty_like(rows, dtype=torch.float32 if half_to_float else x.dtype)
    if y.numel():
        n = rows.shape[-1]
        _softmax[(y.numel() // n,)](rows, y, n, ACC=tl.float64 if x.dtype is torch.float64 else tl.float32, BLOCK=64)
    return y.movedim(-1, dim)
