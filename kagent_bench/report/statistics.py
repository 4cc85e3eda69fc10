"""Statistics of speedups; nothing to average is None, never NaN, and a failure never counts as 1.0."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the values that there are, None where there is none.

    Raises:
        ValueError: a value is not a finite number above 0.
    """
    logarithms = []
    for value in values:
        if value is None:
            continue
        if not (math.isfinite(value) and value > 0):
            message = f"a speedup is a finite number above 0, not {value!r}"
            raise ValueError(message)
        logarithms.append(math.log(value))
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def arithmetic_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that there are, None where there is none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def share(part: int, whole: int) -> float | None:
    """Return ``part / whole``, None of nothing."""
    return part / whole if whole else None


def perf_at_p(speedups: Sequence[float | None], total: int, *, p: float = 1.0) -> float | None:
    """Return the share of all operators that are correct and more than ``p`` times as fast as the reference.

    Args:
        speedups: One per correct operator, None where it was not timed.
        total: Number of all selected operators: also those that are wrong, crashed or missing.
        p: Threshold, exclusive.

    Returns:
        The share, None where nothing was selected or nothing was timed.

    Raises:
        ValueError: there are more speedups than operators.
    """
    if len(speedups) > total:
        message = f"{len(speedups)} correct operators of {total}"
        raise ValueError(message)
    timed = [value for value in speedups if value is not None]
    return share(sum(value > p for value in timed), total) if timed else None


CURVE = (0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
"""Thresholds of the stored perf@p curve; any other can be had from the operators' speedups."""


def perf_curve(speedups: Sequence[float | None], total: int) -> dict[str, float] | None:
    """Return perf@p at each threshold of ``CURVE`` by its text, None where nothing was timed."""
    points = {f"{p:g}": perf_at_p(speedups, total, p=p) for p in CURVE}
    known = {name: value for name, value in points.items() if value is not None}
    return known or None


def largest(values: Iterable[float | None]) -> float | None:
    """Return the worst error: NaN over infinity over the largest; None where nothing was compared."""
    worst: float | None = None
    for value in values:
        if value is None:
            continue
        if math.isnan(value):
            return value
        worst = value if worst is None else max(worst, value)
    return worst
