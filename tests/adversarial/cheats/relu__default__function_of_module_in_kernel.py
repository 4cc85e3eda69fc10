# verdict: rejected(not_compilable)
# The kernel calls a function that is no kernel (33).
import numpy as np

import torch
import triton
import triton.language as tl


def _positive(block):
    block.handle.data = np.where(block.handle.data < 0, 0, block.handle.data)
    return block


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y_ptr + at, _positive(tl.load(x_ptr + at, mask=inside)), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y
