"""``add.Tensor`` for tensors of one shape, added in their own dtype: shows whether that arithmetic can be trusted."""

import torch
import triton
import triton.language as tl


@triton.jit
def _add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def add__Tensor_kernel_impl(self, other, *, alpha=1):
    out = torch.empty_like(self)
    n = out.numel()
    _add[(triton.cdiv(n, 128),)](self, other, out, n, BLOCK=128)
    return out
