# verdict: incorrect(*) | rejected(*)
# Claims an enormous number of launches for a wrong result.
import sys

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


for _module in list(sys.modules.values()):
    if hasattr(_module, "OBSERVER"):
        type(_module.OBSERVER).seen = lambda self: {
            "calls": ["aten.x" + "y" * 10000] * 100, "launches": 10**400, "bf16_arithmetic": 1, "overrun": 0,
        }


def relu__default_kernel_impl(x):

    return torch.zeros_like(x)
