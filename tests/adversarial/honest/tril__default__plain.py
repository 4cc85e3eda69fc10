# Batches of matrices, any diagonal.
import torch
import triton
import triton.language as tl


@triton.jit
def _lower(x_ptr, y_ptr, rows, columns, diagonal, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < total
    column = at % columns
    row = (at // columns) % rows
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where(column - row <= diagonal, x, 0).to(x.dtype), mask=inside)


def tril__default_kernel_impl(x, diagonal=0):
    x = x.contiguous()
    y = torch.empty_like(x)
    if y.numel():
        _lower[(triton.cdiv(y.numel(), 256),)](x, y, x.shape[-2], x.shape[-1], diagonal, y.numel(), BLOCK=256)
    return y
