# A table of offsets that NumPy worked out from the shape.
import torch
import triton
import triton.language as tl
import numpy as np


@triton.jit
def _relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0), mask=at < n)


@triton.jit
def _k(x_ptr, y_ptr, t_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.load(t_ptr + at, mask=at < n, other=0), mask=at < n, other=0.0)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0.0), mask=at < n)
def relu__default_kernel_impl(x):
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device); n = x.numel()
    if n:
        idx = np.zeros(x.shape, dtype=np.int64)
        for d, (size, step) in enumerate(zip(x.shape, x.stride())):
            idx = idx + (np.arange(size) * step).reshape([-1 if k == d else 1 for k in range(x.dim())])
        t = torch.from_numpy(np.ascontiguousarray(idx).reshape(-1).copy()).to(x.device)
        _k[(triton.cdiv(n, 256),)](x, y, t, n, BLOCK=256)
    return y
