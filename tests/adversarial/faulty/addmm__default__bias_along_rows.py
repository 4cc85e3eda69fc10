# verdict: incorrect(values)
# A vector is added along the rows of a square result.
import torch
import triton
import triton.language as tl


@triton.jit
def _matmul(i_ptr, a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, im, jn, BETA: tl.constexpr, ALPHA: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
    total = total * ALPHA
    if BETA != 0:
        inside = (m[:, None] < M) & (n[None, :] < N)
        total += BETA * tl.load(i_ptr + m[:, None] * im + n[None, :] * jn, mask=inside, other=0.0).to(tl.float32)
    tl.store(
        c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N)
    )


def addmm__default_kernel_impl(bias, a, b, *, beta=1, alpha=1):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    bias = bias.unsqueeze(1).expand(c.shape) if bias.dim() == 1 and bias.shape[0] == c.shape[0] else bias.expand(c.shape)
    if c.numel():
        grid = (triton.cdiv(c.shape[0], 32), triton.cdiv(c.shape[1], 32))
        _matmul[grid](bias, a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), *bias.stride(), BETA=beta, ALPHA=alpha, BM=32, BN=32, BK=32)
    return c
