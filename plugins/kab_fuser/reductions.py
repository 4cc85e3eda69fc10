"""Long reductions in two steps: one program for a row leaves a GPU idle where there are few rows and each is long."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch

aten = torch.ops.aten


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When one step is not enough."""

    long: int
    """Elements from which on a row is long: reading it takes one program longer than a second kernel costs."""
    few: int
    """Rows that do not keep a large GPU busy: two programs for each of the 132 processors of an H100 or H200."""
    piece: int
    """Elements of a row that one program reduces in the first step, at most."""


ALONG = Limits(long=1 << 16, few=256, piece=8192)
"""Where neighbours in memory belong to one row: 256 KiB of fp32, one program for each row, as much as fits registers."""
ACROSS = Limits(long=1 << 12, few=256 * 64, piece=512)
"""Where they belong to different rows: one program takes 64 rows side by side, each load of which is 64 elements wide."""
EUCLIDEAN = 2
SHORTEST = 1024
"""Elements that the first step reduces at least where it takes whole dimensions."""


def _steps(source: torch.Tensor, dims: Any) -> tuple[torch.Tensor, list[int], list[int]] | None:
    """Return a view, the dimensions to reduce first, and those to reduce then; None where one step does.

    The second are counted without the first.
    """
    rank = source.dim()
    reduced = sorted({dim % rank for dim in (dims or range(rank))}) if rank else []
    length = prod(source.shape[dim] for dim in reduced)
    limits = ALONG if not reduced or source.stride(reduced[-1]) == 1 else ACROSS
    if length < limits.long or source.numel() > limits.few * length:
        return None
    first: list[int] = []
    while len(first) < len(reduced) and prod(source.shape[dim] for dim in first) < SHORTEST:
        first.insert(0, reduced[len(reduced) - 1 - len(first)])
    rest = [dim for dim in reduced if dim not in first]
    if not rest:
        dim = max(reduced, key=lambda item: source.shape[item])
        size = source.shape[dim]
        inner = next((piece for piece in range(min(limits.piece, size // 2), 0, -1) if size % piece == 0), 1)
        if inner == 1:
            return None
        source = aten.unflatten.int(source, dim, [size // inner, inner])
        first = [item + (item >= dim) for item in reduced]
        rest = [dim]
    then = [dim - sum(item < dim for item in first) for dim in rest]
    return source, first, then


def _shaped(made: torch.Tensor, source: torch.Tensor, dims: Any, *, keepdim: bool) -> torch.Tensor:
    if not keepdim:
        return made
    rank = source.dim()
    reduced = {dim % rank for dim in (dims or range(rank))}
    return made.reshape([1 if dim in reduced else size for dim, size in enumerate(source.shape)])


def _sum(source: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: FBT001, FBT002 - as in the schema
    steps = _steps(source, dim) if source.is_floating_point() else None
    if steps is None:
        return NotImplemented
    view, first, then = steps
    result = dtype or source.dtype
    wide = torch.float64 if torch.float64 in {result, source.dtype} else torch.float32
    made = aten.sum.dim_IntList(aten.sum.dim_IntList(view, first, dtype=wide), then, dtype=wide)
    return _shaped(made.to(result), source, dim, keepdim=keepdim)


def _mean(source: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:  # noqa: FBT001, FBT002
    result = dtype or source.dtype
    wide = torch.float64 if result is torch.float64 else torch.float32
    total = _sum(source, dim, keepdim, dtype=wide)
    if total is NotImplemented:
        return NotImplemented
    return (total / (source.numel() // max(1, total.numel()))).to(result)


def _extreme(reduce: Any) -> Any:
    def extreme(source: torch.Tensor, dim: Any = (), keepdim: bool = False) -> Any:  # noqa: FBT001, FBT002
        steps = _steps(source, dim)
        if steps is None:
            return NotImplemented
        view, first, then = steps
        return _shaped(reduce(reduce(view, first), then), source, dim, keepdim=keepdim)

    return extreme


def _norm(
    source: torch.Tensor,
    ord: float = 2,  # noqa: A002 - as in the schema
    dim: Any = None,
    keepdim: bool = False,  # noqa: FBT001, FBT002
    *,
    dtype: Any = None,
) -> Any:
    if ord != EUCLIDEAN or dtype is not None or _steps(source, dim) is None:
        return NotImplemented
    wide = source if source.dtype is torch.float64 else source.float()
    return aten.sum.dim_IntList(wide * wide, dim, keepdim).sqrt().to(source.dtype)


TWO_STEPS: dict[Any, Any] = {
    aten.sum.dim_IntList: _sum,
    aten.sum.default: lambda source, *, dtype=None: _sum(source, dtype=dtype),
    aten.mean.dim: _mean,
    aten.mean.default: lambda source, *, dtype=None: _mean(source, dtype=dtype),
    aten.amax.default: _extreme(aten.amax.default),
    aten.amin.default: _extreme(aten.amin.default),
    aten.linalg_vector_norm.default: _norm,
}
"""Decompositions by operator; ``NotImplemented`` leaves the call as it is."""
