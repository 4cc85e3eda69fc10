"""Kernel files for the cases, as programs write them; ``KERNEL`` stands for the function's name."""

from __future__ import annotations

HEADER = """
import os, signal, sys, time
import torch
import triton
import triton.language as tl

"""
_POINTWISE = """
@triton.jit
def _pointwise(ARGUMENTS, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
LOADS
    result = FORMULA
    tl.store(out + at, result.to(out.dtype.element_ty), mask=inside)


def _launch(ARGUMENTS, out):
    n = out.numel()
    if n:
        _pointwise[(triton.cdiv(n, 128),)](ARGUMENTS, out, n, BLOCK=128)
    return out
"""


def pointwise(formula: str, *, inputs: int = 1, native: bool = False) -> str:
    """Return a kernel's device part and ``_launch(*tensors, out)``.

    Args:
        formula: of ``x0``, ``x1``, ...: the inputs, upcast to float32 unless ``native``.
        inputs: number of tensors.
        native: compute in the dtype itself.
    """
    names = [f"p{index}" for index in range(inputs)]
    cast = "" if native else ".to(tl.float32)"
    loads = [f"    x{i} = tl.load({name} + at, mask=inside){cast}" for i, name in enumerate(names)]
    text = _POINTWISE.replace("ARGUMENTS", ", ".join(names)).replace("LOADS", "\n".join(loads))
    return HEADER + text.replace("FORMULA", formula)


def unary(formula: str, *, native: bool = False, before: str = "", of_file: str = "") -> str:
    """Return a whole kernel of one tensor.

    Args:
        formula: of ``x0``.
        native: compute in the dtype itself.
        before: statement that runs first in each call.
        of_file: statements that run when the file is loaded.
    """
    call = (
        f"\n\ndef KERNEL(self):\n    {before or 'pass'}\n    return _launch(self, torch.empty_like(self))\n"
    )
    return f"{pointwise(formula, native=native)}\n{of_file}\n{call}"


def binary(formula: str, *, native: bool = False) -> str:
    """Return a whole kernel of two tensors of one shape; ``alpha`` must be 1."""
    call = (
        "\n\ndef KERNEL(self, other, *, alpha=1):\n    return _launch(self, other, torch.empty_like(self))\n"
    )
    return pointwise(formula, inputs=2, native=native) + call


def host(body: str, arguments: str = "self") -> str:
    """Return a kernel file without a device part: the function's statements."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"{HEADER}\nmemory = {{}}\n\n\ndef KERNEL({arguments}):\n{lines}\n"


TRANSPOSED_PRODUCT = (
    HEADER
    + """
@triton.jit
def _product(a, b, out, n: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, n)
    total = tl.sum(tl.load(a + row * n + at) * tl.load(b + at * n + column), axis=0)
    tl.store(out + column * n + row, total)


def KERNEL(self, mat2):
    out = torch.empty_like(self)
    _product[(8, 8)](self, mat2, out, 8)
    return out
"""
)
"""The transpose of a matrix product."""

DOT = (
    HEADER
    + """
@triton.jit
def _dot(a, b, out):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)).to(out.dtype.element_ty))


def KERNEL(self, mat2):
    out = torch.empty_like(self)
    _dot[(1,)](self, mat2, out)
    return out
"""
)
"""A batch of one 16 by 16 product with ``tl.dot`` in the dtype itself."""

AUTOTUNED = (
    HEADER
    + """
@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def _maximum(a, b, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x, y = tl.load(a + at, mask=inside), tl.load(b + at, mask=inside)
    tl.store(out + at, tl.where((x != x) | (x > y), x, y), mask=inside)


def KERNEL(self, other):
    out = torch.empty_like(self)
    n = out.numel()
    _maximum[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](self, other, out, n)
    return out
"""
)
"""``maximum`` behind ``triton.autotune``."""

FAR_OUT_OF_BOUNDS = (
    HEADER
    + """
@triton.jit
def _far(x, out):
    tl.store(out + 1000000000000, tl.load(x))


def KERNEL(self):
    out = torch.empty_like(self)
    _far[(1,)](self, out)
    return out
"""
)
"""Writes a long way past its output."""

DUMMY_LAUNCH = (
    HEADER
    + """
@triton.jit
def _dummy(out):
    tl.store(out, 1.0)


def KERNEL(self):
    _dummy[(1,)](torch.empty(1))
    return torch.nn.functional.silu(self)
"""
)
"""Launches something and returns the library's result."""

FALLBACK = (
    HEADER
    + """
@triton.jit
def _broken(x, out):
    tl.store(out, no_such_name)


def KERNEL(self, negative_slope=0.01):
    try:
        out = torch.empty_like(self)
        _broken[(1,)](self, out)
        return out
    except Exception:
        return torch.where(self > 0, self, self * negative_slope)
"""
)
"""A kernel that cannot work, with the library behind it."""
