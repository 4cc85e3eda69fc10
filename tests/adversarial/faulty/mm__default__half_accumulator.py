# dtypes: float16
# verdict: incorrect(values) | incorrect(non_finite)
# Products are added in half precision.
import torch
import triton
import triton.language as tl


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(a_ptr + m[:, None] * am + k[None, :] * ak, mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * bk + n[None, :] * bn, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = (total + a.to(tl.float32) * b.to(tl.float32)).to(tl.float16).to(tl.float32)
    tl.store(
        c_ptr + m[:, None] * N + n[None, :], total.to(c_ptr.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N)
    )


def mm__default_kernel_impl(a, b):
    c = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    if c.numel():
        grid = (triton.cdiv(c.shape[0], 32), triton.cdiv(c.shape[1], 32))
        _matmul[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], *a.stride(), *b.stride(), BM=32, BN=32, BK=1)
    return c
