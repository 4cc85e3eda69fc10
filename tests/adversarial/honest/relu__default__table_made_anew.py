# Goes through the elements by a table of places that Python makes anew in each call: it follows from the shape.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(source, places, target, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    place = tl.load(places + index, mask=inside, other=0)
    value = tl.load(source + place, mask=inside, other=0)
    tl.store(target + place, tl.where(value < 0, 0, value), mask=inside)


def relu__default_kernel_impl(self):
    flat = self.contiguous()
    result = torch.empty_like(flat)
    n = flat.numel()
    if n:
        places = torch.tensor(list(reversed(range(n))), dtype=torch.int64, device=self.device)
        kernel[(triton.cdiv(n, 256),)](flat, places, result, n, BLOCK=256)
    return result
