"""Statistics: nothing is None, failures never count as 1.0."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.report.statistics import arithmetic_mean, geometric_mean, largest, perf_at_p, share

SPEEDUPS = st.floats(min_value=1e-6, max_value=1e6)


def test_nothing_to_average_is_none() -> None:
    """An empty or untimed list has no mean, and no share of nothing exists."""
    assert geometric_mean([]) is None
    assert geometric_mean([None]) is None
    assert arithmetic_mean([]) is None
    assert share(0, 0) is None
    assert perf_at_p([], 0) is None
    assert perf_at_p([None, None], 3) is None
    assert largest([None]) is None


def test_geometric_mean_of_inverse_speedups_is_one() -> None:
    """Twice as fast and half as fast cancel."""
    mean = geometric_mean([2.0, 0.5])
    assert mean is not None
    assert math.isclose(1.0, mean)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_an_impossible_speedup_is_refused(value: float) -> None:
    """Zero, negative and non-finite speedups are a fault of the caller."""
    with pytest.raises(ValueError, match="speedup"):
        geometric_mean([1.0, value])


@given(values=st.lists(SPEEDUPS, min_size=1), missing=st.integers(0, 3))
def test_geometric_mean_lies_between_the_extremes(values: list[float], missing: int) -> None:
    """The mean is never outside its values, and untimed operators do not move it."""
    mean = geometric_mean([*values, *[None] * missing])
    assert mean is not None
    assert min(values) * (1 - 1e-9) <= mean <= max(values) * (1 + 1e-9)


@given(values=st.lists(SPEEDUPS, min_size=1), wrong=st.integers(0, 5))
def test_perf_at_p_counts_every_operator(values: list[float], wrong: int) -> None:
    """Wrong operators are in the denominator only; a higher threshold never gives more."""
    total = len(values) + wrong
    low, high = perf_at_p(values, total, p=0.5), perf_at_p(values, total, p=2.0)
    assert low is not None
    assert high is not None
    assert 0 <= high <= low <= len(values) / total


def test_perf_at_p_is_exclusive() -> None:
    """Exactly as fast as the reference is not faster."""
    assert perf_at_p([1.0], 1) == 0.0


def test_perf_at_p_refuses_more_correct_operators_than_there_are() -> None:
    """A denominator that is too small is a fault of the caller."""
    with pytest.raises(ValueError, match="2 correct operators of 1"):
        perf_at_p([1.0, 2.0], 1)


def test_the_worst_error_is_nan_then_infinity() -> None:
    """A NaN error never hides behind a number."""
    worst = largest([0.1, math.nan, math.inf])
    assert worst is not None
    assert math.isnan(worst)
    assert math.inf == largest([None, 0.1, math.inf])
