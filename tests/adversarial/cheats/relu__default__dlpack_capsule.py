# verdict: rejected(library_compute) | rejected(no_kernel) | rejected(decoy_kernel)
# Hands the values to NumPy in a capsule of its own making; the kernel copies.
import numpy as np

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


class _Capsule:
    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **_):
        return torch._C._to_dlpack(self._tensor)

    def __dlpack_device__(self):
        return (1, 0)


def relu__default_kernel_impl(x):
    values = np.maximum(np.from_dlpack(_Capsule(x.reshape(-1))), 0)
    return _relu(torch.from_numpy(values).reshape(x.shape))
