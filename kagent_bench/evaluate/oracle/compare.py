"""Comparing values: non-finite masks first, then each element's error against its own bound.

With e = |actual - exact|, exact being the float64 result, an element is right if one of these holds:

1. it has the bits (or NaN-ness) that eager PyTorch gives;
2. e <= tol * |exact| + acc * m + tiny, with tol and acc from the tolerance table, m from ``magnitude`` and tiny
   what the dtype cannot represent;
3. e <= min(2 * e_eager, max(1.25 * e_eager, |exact| / 100)), e_eager being eager's own error: a kernel that is
   better than eager is never wrong, and where eager is badly wrong nobody may be worse than its formula makes it.

A non-finite element must be what the float64 result is once rounded to the dtype, or what eager gives. Where the
float64 result is finite and within tol of the dtype's largest number, either side of overflow is right.
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
SAME_FORMULA = 1.25
"""How many times eager's own error, however large, may come of its own formula, rounded a little differently."""
EAGER_CAP = 0.01
"""Share of the reference up to which that factor applies."""
BACKENDBENCH_TOLERANCE = 1e-2
"""Relative and absolute tolerance of BackendBench for every dtype."""
UNREPRESENTABLE = {
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


class Expected:
    """What is right for one output, worked out once and compared with as many tensors as there are."""

    def __init__(
        self,
        eager: torch.Tensor,
        exact: torch.Tensor | None,
        *,
        limits: Limits | None,
        magnitude: Callable[[], torch.Tensor] | None = None,
    ) -> None:
        """Take the references.

        Args:
            eager: eager's output.
            exact: the float64 (complex128, integer) result, same shape; None where eager is the reference.
            limits: the factors ``tol`` and ``acc`` of the dtype; None for integers and booleans.
            magnitude: returns m, called at most once, only if an element is not right without it.
        """
        self.eager = eager
        self.reference = eager if exact is None else exact
        self._magnitude = magnitude
        self._limits = limits
        self._discrete = not (eager.is_floating_point() or eager.is_complex())
        if self._discrete:
            return
        assert limits is not None
        kind = torch.complex128 if eager.is_complex() else torch.float64
        self._kind = kind
        self._usual, right = eager.to(kind), self.reference.to(kind)
        self._rounded = self.reference.to(eager.dtype).to(kind)
        self._finite = all(
            bool(torch.isfinite(values).all()) for values in (self._usual, right, self._rounded)
        )
        # Where the exact result is not finite but eager's and the candidate's are, eager is what to compare with.
        self._target = right if self._finite else torch.where(torch.isfinite(right), right, self._usual)
        self._size = self._only_finite(self._target.abs())
        eager_error = self._error(self._usual)
        by_eager = torch.minimum(
            EAGER_FACTOR * eager_error,
            torch.maximum(SAME_FORMULA * eager_error, EAGER_CAP * self._size),
        )
        tiny = UNREPRESENTABLE.get(eager.dtype, 0.0)
        self._allowed = torch.maximum(limits.relative * self._size + tiny, by_eager)
        self._with_magnitude = False

    def accepts(self, actual: torch.Tensor) -> bool:
        """Return whether a tensor of the right shape and dtype has the right values."""
        if self._discrete:
            return bool(_same(actual, self.eager, self.reference).all())
        got = actual.to(self._kind)
        error = self._error(got)
        pattern_ok = self._pattern_ok(got, error)
        return (pattern_ok is None or bool(pattern_ok.all())) and bool(self._value_ok(got, error).all())

    def compare(self, actual: torch.Tensor) -> Comparison:
        """Compare a tensor of the right shape and dtype, and describe what is wrong with it."""
        if self._discrete:
            return _compare_exactly(actual, self.eager, self.reference)
        got = actual.to(self._kind)
        error = self._error(got)
        value_ok = self._value_ok(got, error)
        pattern_ok = self._pattern_ok(got, error)
        new_nan = 0
        if pattern_ok is not None:
            new_nan = int((torch.isnan(got) & ~torch.isnan(self._usual) & ~torch.isnan(self._rounded)).sum())
        relative = torch.where(self._size > 0, error / self._size.clamp_min(1e-300), 0.0)
        facts = Comparison(
            ok=True, max_abs_error=_largest(error), max_rel_error=_largest(relative), nan_count=new_nan
        )
        if pattern_ok is not None and not bool(pattern_ok.all()):
            detail = _describe(~pattern_ok, actual, self.reference, self.eager)
            return replace(facts, ok=False, reason="nan" if new_nan else "non_finite", detail=detail)
        if not bool(value_ok.all()):
            worst = torch.where(value_ok, -1.0, error)
            detail = _describe(~value_ok, actual, self.reference, self.eager, worst)
            return replace(facts, ok=False, reason="values", detail=detail)
        return facts

    def _pattern_ok(self, got: torch.Tensor, error: torch.Tensor) -> torch.Tensor | None:
        """Return where the kind of non-finite number is right; None where everything is finite."""
        if self._finite and bool(torch.isfinite(got).all()):
            return None
        pattern = _pattern(got)
        same = (pattern == _pattern(self._rounded)) | (pattern == _pattern(self._usual))
        if bool(same.all()):
            return same
        assert self._limits is not None
        exact = self.reference.to(self._kind)
        further = (exact * (1 + self._limits.relative)).to(self.eager.dtype).to(self._kind)
        within = torch.isfinite(got) & torch.isfinite(exact) & (error <= self._allowed)
        return same | within | (torch.isfinite(exact) & (pattern == _pattern(further)))

    def _error(self, got: torch.Tensor) -> torch.Tensor:
        return torch.nan_to_num(self._only_finite((got - self._target).abs()), nan=0.0, posinf=0.0)

    def _value_ok(self, got: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        value_ok = (error <= self._allowed) | (got == self._usual)
        if self._magnitude is not None and not self._with_magnitude and not bool(value_ok.all()):
            assert self._limits is not None
            bound = self._limits.relative * self._size + self._limits.accumulated * self._magnitude()
            self._allowed = torch.maximum(self._allowed, bound)
            self._with_magnitude = True
            value_ok = (error <= self._allowed) | (got == self._usual)
        return value_ok

    def _only_finite(self, values: torch.Tensor) -> torch.Tensor:
        """Return values with zero where there is nothing finite to compare with."""
        return values if self._finite else torch.where(torch.isfinite(self._target), values, 0.0)


def compare(
    actual: torch.Tensor,
    eager: torch.Tensor,
    exact: torch.Tensor | None,
    *,
    limits: Limits | None,
    magnitude: Callable[[], torch.Tensor] | None = None,
) -> Comparison:
    """Compare one output with eager's and with the float64 result; see ``Expected`` for the arguments."""
    return Expected(eager, exact, limits=limits, magnitude=magnitude).compare(actual)


def backendbench_agrees(actual: torch.Tensor, eager: torch.Tensor) -> bool:
    """Return BackendBench's verdict: the element rule of ``torch.testing.assert_close`` at its tolerance."""
    if torch.equal(actual, eager):
        return True
    limits = {"rtol": BACKENDBENCH_TOLERANCE, "atol": BACKENDBENCH_TOLERANCE}
    return bool(torch.isclose(actual, eager, equal_nan=True, **limits).all())


def _same(actual: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    right = actual == eager
    return right | (actual == reference) if reference.dtype is actual.dtype else right


def _compare_exactly(actual: torch.Tensor, eager: torch.Tensor, reference: torch.Tensor) -> Comparison:
    right = _same(actual, eager, reference)
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
