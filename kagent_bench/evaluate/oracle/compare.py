"""Comparing values: non-finite masks first, then each element's error against its own bound.

With e = |actual - exact|, exact being the float64 result, an element is right if one of these holds:

1. it has the bits (or NaN-ness) that eager PyTorch gives;
2. e <= tol * |exact| + acc * m + tiny, with tol and acc from the tolerance table, m from ``magnitude`` and tiny
   what the dtype cannot represent;
3. e <= min(2 * e_eager, max(e_eager, |exact| / 100)), e_eager being eager's own error: a kernel that is better
   than eager is never wrong, and where eager is badly wrong nobody may be worse than it.

A non-finite element must be what the float64 result is once rounded to the dtype, or what eager gives.
Integers and booleans are exact. There is no tensor-wide norm, no share of elements that may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.tolerance import Limits

EAGER_FACTOR = 2.0
"""How many times eager's own error at an element is forgiven."""
EAGER_CAP = 0.01
"""Share of the reference up to which that factor applies."""
_UNREPRESENTABLE = {
    torch.float64: torch.finfo(torch.float64).tiny,
    torch.complex128: torch.finfo(torch.float64).tiny,
    torch.float32: torch.finfo(torch.float32).tiny,
    torch.complex64: torch.finfo(torch.float32).tiny,
    torch.bfloat16: torch.finfo(torch.bfloat16).tiny,
    torch.float16: 2.0**-23,
}
"""Absolute error below which a dtype cannot do better: the smallest normal number where hardware may flush to
zero, two steps of the subnormal range for float16, which no hardware flushes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How an output compares with what is right."""

    ok: bool
    reason: str = ""
    """Reason code: ``nan``, ``non_finite``, ``values``; empty if ok."""
    detail: str = ""
    """Where, how much, which element."""
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    nan_count: int | None = None
    """NaN elements where neither the exact result nor eager has one."""


def compare(
    actual: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor | None,
    *,
    limits: Limits | None,
    magnitude: Callable[[], torch.Tensor] | None = None,
) -> Comparison:
    """Compare an output with eager's and with the float64 result.

    Args:
        actual: the candidate's output.
        eager: eager's output, same shape and dtype.
        exact: the float64 (complex128, integer) result, same shape; None where eager is the reference.
        limits: the factors ``tol`` and ``acc`` of the dtype; None for integers and booleans.
        magnitude: returns m, called only if an element is not right without it.
    """
    reference = eager if exact is None else exact
    if not (actual.is_floating_point() or actual.is_complex()):
        return _compare_exactly(actual, eager, reference)
    assert limits is not None
    kind = torch.complex128 if actual.is_complex() else torch.float64
    got, usual, right = (tensor.to(kind) for tensor in (actual, eager, reference))
    rounded = reference.to(actual.dtype).to(kind)
    same_as_eager = (got == usual) | (torch.isnan(got) & torch.isnan(usual))
    pattern = _pattern(got)
    pattern_ok = (pattern == _pattern(rounded)) | (pattern == _pattern(usual))
    # Where the exact result is not finite but eager's and the candidate's are, eager is what to compare with.
    target = torch.where(torch.isfinite(right), right, usual)
    comparable = torch.isfinite(got) & torch.isfinite(target)
    error = torch.where(comparable, (got - target).abs(), 0.0)
    eager_error = torch.where(torch.isfinite(usual) & torch.isfinite(target), (usual - target).abs(), 0.0)
    size = torch.where(comparable, target.abs(), 0.0)
    by_eager = torch.minimum(EAGER_FACTOR * eager_error, torch.maximum(eager_error, EAGER_CAP * size))
    allowed = torch.maximum(limits.relative * size + _UNREPRESENTABLE.get(actual.dtype, 0.0), by_eager)
    value_ok = same_as_eager | (error <= allowed)
    if magnitude is not None and not bool(value_ok.all()):
        value_ok |= error <= limits.relative * size + limits.accumulated * magnitude()
    new_nan = torch.isnan(got) & ~torch.isnan(usual) & ~torch.isnan(rounded)
    facts = Comparison(
        ok=True,
        max_abs_error=_largest(error),
        max_rel_error=_largest(torch.where(size > 0, error / size.clamp_min(1e-300), 0.0)),
        nan_count=int(new_nan.sum()),
    )
    if not bool(pattern_ok.all()):
        reason = "nan" if facts.nan_count else "non_finite"
        return replace(
            facts, ok=False, reason=reason, detail=_describe(~pattern_ok, actual, reference, eager)
        )
    if not bool(value_ok.all()):
        worst = torch.where(value_ok, -1.0, error)
        detail = _describe(~value_ok, actual, reference, eager, worst)
        return replace(facts, ok=False, reason="values", detail=detail)
    return facts


def _compare_exactly(actual: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> Comparison:
    right = actual == eager
    if reference.dtype is actual.dtype:
        right |= actual == reference
    if bool(right.all()):
        return Comparison(ok=True, max_abs_error=0.0, max_rel_error=0.0, nan_count=0)
    distance = (actual.double() - eager.double()).abs()
    return Comparison(
        ok=False,
        reason="values",
        detail=_describe(~right, actual, eager, eager, torch.where(right, -1.0, distance)),
        max_abs_error=_largest(distance),
        max_rel_error=None,
        nan_count=0,
    )


def _pattern(values: torch.Tensor) -> torch.Tensor:
    """Return 0 for finite, 1 for NaN, 2 for +inf, 3 for -inf; a complex infinity is one of them all."""
    if values.is_complex():
        return torch.isnan(values).to(torch.int8) + 2 * torch.isinf(values).to(torch.int8)
    return (
        torch.isnan(values).to(torch.int8)
        + 2 * (values == torch.inf).to(torch.int8)
        + 3 * (values == -torch.inf).to(torch.int8)
    )


def _largest(values: torch.Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def _describe(
    wrong: torch.Tensor,
    actual: torch.Tensor,
    reference: torch.Tensor,
    eager: torch.Tensor,
    weight: torch.Tensor | None = None,
) -> str:
    flat = int((wrong.double() if weight is None else weight).flatten().argmax())
    index = []
    rest = flat
    for size in reversed(wrong.shape):
        index.append(rest % size)
        rest //= size
    place = "[" + ", ".join(str(part) for part in reversed(index)) + "]"
    got, right, usual = (tensor.flatten()[flat].item() for tensor in (actual, reference, eager))
    return (
        f"{int(wrong.sum())} of {wrong.numel()} elements wrong; worst at {place}: "
        f"got {got!r}, exact {right!r}, eager {usual!r}"
    )
