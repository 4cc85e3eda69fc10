# verdict: incorrect(values) | incorrect(nan) | incorrect(non_finite)
# A thread that was there before the first call fills the output (3).
import queue
import threading

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


_jobs = queue.Queue()


def _work():
    while True:
        x, y = _jobs.get()
        import time

        time.sleep(0.02)
        y.copy_(_relu(x))


threading.Thread(target=_work, daemon=True).start()


def relu__default_kernel_impl(x):
    y = torch.empty_like(x)
    _jobs.put((x.clone(), y))
    return y
