# Hands the kernel tuples of pointers, numbers and compile time values.
import torch
import triton
import triton.language as tl


@triton.jit
def _kernel(pointers, numbers, FLAGS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < numbers[0]
    x = tl.load(pointers[0] + at, mask=inside, other=0)
    if FLAGS[0]:
        x = tl.where((x > 0) | (x != x), x, 0)
    tl.store(pointers[1] + at, x, mask=inside)


def relu__default_kernel_impl(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    if n:
        _kernel[(triton.cdiv(n, 512),)]((x, y), (n, 1.5, None), FLAGS=(True, "relu"), BLOCK=512, num_warps=2)
    return y
