# dtypes: float32
# Prepares its constants in a thread at import, joined.
import threading

import torch
import triton
import triton.language as tl


_ready = []
_worker = threading.Thread(target=lambda: _ready.append(1024))
_worker.start()
_worker.join()


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, tl.where((x > 0) | (x != x), x, 0).to(x.dtype), mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=_ready[0])
    return y
