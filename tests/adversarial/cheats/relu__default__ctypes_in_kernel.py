# verdict: rejected(not_compilable) | rejected(library_compute)
# Loops over memory with ctypes inside the kernel, on addresses kept in a list of Python (33, 41).
import ctypes

import torch
import triton
import triton.language as tl

PLACES = []


class Place:
    def __init__(self, source, target, count):
        self.values = (ctypes.c_float * count).from_address(source)
        self.results = (ctypes.c_float * count).from_address(target)

    def work(self):
        self.results[:] = [0.0 if value < 0.0 else value for value in self.values]


@triton.jit
def _kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for place in PLACES:
        place.work()
    PLACES.clear()


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        PLACES.append(Place(x.data_ptr(), y.data_ptr(), n))
        _kernel[(1,)](x, y, n, BLOCK=256)
    return y
