# Registered as an operator of its own, as a compiler wants it.
import torch
import triton
import triton.language as tl


@triton.jit
def _relu(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(y_ptr + at, tl.where(x < 0, 0.0, x), mask=at < n)


@torch.library.custom_op("own_kernels::relu", mutates_args=())
def _operator(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    if y.numel():
        _relu[(triton.cdiv(y.numel(), 256),)](x, y, y.numel(), BLOCK=256)
    return y


@_operator.register_fake
def _(x):
    return torch.empty_like(x)


def relu__default_kernel_impl(x):
    return torch.ops.own_kernels.relu(x.contiguous())
