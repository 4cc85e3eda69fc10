# Along any dimension.
import torch
import triton
import triton.language as tl


@triton.jit
def _pick(x_ptr, i_ptr, y_ptr, n_index, inner, n_source, total, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < total
    last = at % inner
    place = (at // inner) % n_index
    first = at // (inner * n_index)
    chosen = tl.load(i_ptr + place, mask=inside, other=0)
    y = tl.load(x_ptr + (first * n_source + chosen) * inner + last, mask=inside)
    tl.store(y_ptr + at, y, mask=inside)


def index_select__default_kernel_impl(x, dim, index):
    if x.dim() == 0:
        return index_select__default_kernel_impl(x.reshape(1), 0, index.reshape(-1)).reshape(())
    dim = dim % x.dim()
    x = x.contiguous()
    index = index.reshape(-1).contiguous()
    shape = [*x.shape[:dim], index.numel(), *x.shape[dim + 1 :]]
    inner = 1
    for size in x.shape[dim + 1 :]:
        inner *= size
    y = torch.empty(shape, dtype=x.dtype, device=x.device)
    if y.numel():
        _pick[(triton.cdiv(y.numel(), 256),)](x, index, y, index.numel(), inner, x.shape[dim], y.numel(), BLOCK=256)
    return y
