# verdict: incorrect(values) | incorrect(nan) | incorrect(non_finite)
# A thread writes the result after the function has returned (2).
import threading
import time

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
    y = torch.empty_like(x)
    x = x.clone()

    def work():
        time.sleep(0.05)
        y.copy_(_relu(x))

    threading.Thread(target=work).start()
    return y
