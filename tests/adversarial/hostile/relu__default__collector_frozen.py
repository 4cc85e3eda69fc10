# verdict: correct() | incorrect(*) | crashed(*)
# Switches the collector off and leaves a finaliser that exits.
import gc
import os

import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=inside)


def _relu(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
    return y


class _Ends:
    def __del__(self):
        os._exit(0)


def relu__default_kernel_impl(x):

    y = _relu(x)
    cycle = _Ends()
    cycle.self = cycle
    del cycle
    gc.collect()
    return y
