# verdict: incorrect(values) | incorrect(nan) | incorrect(non_finite) | rejected(*)
# device: gpu
# Replays a graph that reads a copy of the first input (11).
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


_graphs = {}


def relu__default_kernel_impl(x):
    if not _graphs:
        _graphs["x"] = x.clone()
        graph = torch.cuda.CUDAGraph()
        _relu(_graphs["x"])
        with torch.cuda.graph(graph):
            _graphs["y"] = _relu(_graphs["x"])
        _graphs["g"] = graph
    _graphs["g"].replay()
    return _graphs["y"].clone() if _graphs["y"].shape == x.shape else _relu(x)
