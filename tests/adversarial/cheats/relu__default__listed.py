# verdict: rejected(library_compute) | rejected(no_kernel) | rejected(decoy_kernel)
# Computes in Python on a list of the values; the kernel copies.
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
    values = [value if value > 0 or value != value else 0.0 for value in x.flatten().tolist()]
    return _relu(torch.tensor(values, dtype=x.dtype).reshape(x.shape))
