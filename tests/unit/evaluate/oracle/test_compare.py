"""When an element is right."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.oracle.compare import EAGER_CAP, Comparison, compare
from kagent_bench.evaluate.tolerance import Limits, tolerance_table

TABLE = tolerance_table({})
FLOATS = ("float16", "bfloat16", "float32")
NAN, INF = math.nan, math.inf


def judge(
    actual: list[float] | torch.Tensor,
    exact: list[float] | torch.Tensor,
    *,
    eager: list[float] | torch.Tensor | None = None,
    dtype: torch.dtype = torch.float32,
    magnitude: float | None = None,
) -> Comparison:
    """Compare with the shipped limits; eager is the exact result rounded, unless given."""
    right = torch.as_tensor(exact, dtype=torch.float64)
    usual = right.to(dtype) if eager is None else torch.as_tensor(eager, dtype=dtype)
    limits: Limits | None = TABLE.get(str(dtype).removeprefix("torch."))
    terms = None if magnitude is None else lambda: torch.full_like(right, magnitude)
    got = torch.as_tensor(actual, dtype=dtype)
    return compare(got, usual, right, limits=limits, magnitude=terms)


@given(
    values=st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=8),
    dtype=st.sampled_from([torch.float16, torch.bfloat16, torch.float32, torch.float64]),
)
def test_the_exact_result_rounded_is_always_right(values: list[float], dtype: torch.dtype) -> None:
    """Whatever eager makes of it: overflow, underflow and huge values included."""
    exact = torch.tensor(values, dtype=torch.float64)
    wrong = torch.full_like(exact, 3.0).to(dtype)
    assert judge(exact.to(dtype), exact, eager=wrong, dtype=dtype).ok


@given(
    values=st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8),
    place=st.integers(0, 7),
    dtype=st.sampled_from(FLOATS),
    factor=st.floats(1.5, 1e3),
    sign=st.sampled_from([1.0, -1.0]),
)
def test_one_element_beyond_the_bound_is_wrong(
    values: list[float], place: int, dtype: str, factor: float, sign: float
) -> None:
    """No number of right elements makes up for a wrong one."""
    kind: torch.dtype = getattr(torch, dtype)
    exact = torch.tensor(values, dtype=torch.float64).to(kind).double()
    moved = exact.clone()
    at = place % len(values)
    moved[at] += sign * factor * (2 * TABLE[dtype].relative * abs(float(exact[at])) + 2.0**-20)
    found = judge(moved.to(kind), exact, dtype=kind)
    assert (False, "values") == (found.ok, found.reason)
    assert f"worst at [{at}]" in found.detail


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_bound_is_relative_to_the_element(dtype: str) -> None:
    """An error that a large element may have is wrong at a small one."""
    kind: torch.dtype = getattr(torch, dtype)
    error = TABLE[dtype].relative * 64
    assert judge([64 + error, 1.0], [64.0, 1.0], dtype=kind).ok
    assert not judge([64.0, 1.0 + error], [64.0, 1.0], dtype=kind).ok


def test_zeros_are_not_close_to_small_values() -> None:
    """Softmax over a long row has nothing but small values; zeros are still wrong."""
    exact = torch.softmax(torch.rand(4096, dtype=torch.float64), 0)
    found = judge(torch.zeros(4096), exact)
    assert "values" == found.reason
    assert "4096 of 4096" in found.detail


def test_what_eager_gives_is_right() -> None:
    """A kernel that returns eager's own bits is never wrong, however wrong eager is."""
    assert judge([2.0, NAN, INF], [1.0, 1.0, 1.0], eager=[2.0, NAN, INF]).ok


@pytest.mark.parametrize(
    ("actual", "ok"), [(1.0 + 1.9e-4, True), (1.0 - 1.9e-4, True), (1.0 + 2.1e-4, False)]
)
def test_twice_eagers_error_is_forgiven(actual: float, *, ok: bool) -> None:
    """Where eager is off by 1e-4, so may be twice that; on either side of the exact result."""
    assert ok is judge([actual], [1.0], eager=[1.0 + 1e-4]).ok


def test_eagers_error_is_forgiven_only_up_to_a_cap() -> None:
    """Where eager is badly wrong, nobody may be much worse than it."""
    badly = 1.0 + 5 * EAGER_CAP
    assert judge([badly], [1.0], eager=[badly]).ok
    assert judge([1.0 - 4.9 * EAGER_CAP], [1.0], eager=[badly]).ok
    assert not judge([1.0 + 7 * EAGER_CAP], [1.0], eager=[badly]).ok


def test_eager_being_wrong_elsewhere_forgives_nothing_here() -> None:
    """Eager's error counts at its own element."""
    assert not judge([1.0, 1.001], [1.0, 1.0], eager=[1.001, 1.0]).ok


def test_cancelling_terms_widen_the_bound() -> None:
    """A sum of terms of size 1000 that comes out as 0.001 may be wrong by the terms' rounding."""
    error = 0.5 * 1000 * TABLE["float32"].accumulated
    assert not judge([0.001 + error], [0.001]).ok
    assert judge([0.001 + error], [0.001], magnitude=1000.0).ok
    assert not judge([0.001 + 3 * error], [0.001], magnitude=1000.0).ok


def test_the_magnitude_is_not_computed_where_nothing_is_wrong() -> None:
    """It costs further runs of the operator."""

    def magnitude() -> torch.Tensor:
        raise AssertionError

    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    limits = TABLE["float32"]
    assert compare(exact.float(), exact.float(), exact, limits=limits, magnitude=magnitude).ok


@pytest.mark.parametrize(
    ("actual", "exact", "reason"),
    [
        ([NAN, 1.0], [1.0, 1.0], "nan"),
        ([NAN, NAN], [1.0, 1.0], "nan"),
        ([1.0, 1.0], [NAN, 1.0], "non_finite"),
        ([INF, 1.0], [1.0, 1.0], "non_finite"),
        ([1.0, 1.0], [INF, 1.0], "non_finite"),
        ([INF, 1.0], [-INF, 1.0], "non_finite"),
        ([NAN, 1.0], [INF, 1.0], "nan"),
        ([3.4e38, 1.0], [INF, 1.0], "non_finite"),
        ([NAN, 1.0], [NAN, 1.0], ""),
        ([-INF, INF], [-INF, INF], ""),
    ],
)
def test_non_finite_elements_must_be_where_they_belong(
    actual: list[float], exact: list[float], reason: str
) -> None:
    """NaN, +inf and -inf are told apart, both ways."""
    assert reason == judge(actual, exact).reason


def test_nans_are_counted_and_do_not_hide_the_error() -> None:
    """One NaN among many elements is found, counted, and the finite error is still reported."""
    exact = torch.ones(1000, dtype=torch.float64)
    actual = exact.float()
    actual[7], actual[9] = NAN, 1.5
    found = judge(actual, exact)
    assert ("nan", 1, 0.5) == (found.reason, found.nan_count, found.max_abs_error)
    assert "worst at [7]" in found.detail


def test_overflow_of_the_dtype_is_as_right_as_eagers_value() -> None:
    """float16 ends at 65504: the float64 result rounds to infinity, where eager may say so or not."""
    exact, largest = [70000.0], [65504.0]
    assert judge([INF], exact, eager=[INF], dtype=torch.float16).ok
    assert judge([INF], exact, eager=largest, dtype=torch.float16).ok
    assert judge(largest, exact, eager=largest, dtype=torch.float16).ok
    assert not judge(largest, exact, eager=[INF], dtype=torch.float16).ok


def test_a_subnormal_may_be_flushed_to_zero_in_float32_only() -> None:
    """Hardware flushes float32; it never flushes float16."""
    assert judge([0.0], [1e-40]).ok
    assert not judge([0.0], [1e-5], dtype=torch.float16).ok


def test_negative_zero_is_zero() -> None:
    """The sign of a zero is not a wrong value."""
    assert judge([-0.0, 0.0], [0.0, -0.0]).ok


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
def test_integers_and_booleans_are_exact(dtype: torch.dtype) -> None:
    """One off is wrong."""
    right = torch.tensor([0, 1, 1], dtype=dtype)
    assert compare(right.clone(), right, right, limits=None).ok
    wrong = compare(torch.tensor([0, 1, 0], dtype=dtype), right, right, limits=None)
    assert (False, "values", 1.0) == (wrong.ok, wrong.reason, wrong.max_abs_error)
    assert "1 of 3 elements wrong; worst at [2]" in wrong.detail


def test_large_integers_are_told_apart() -> None:
    """Integers beyond float64's 53 bits are compared as integers."""
    right = torch.tensor([2**60])
    assert not compare(right + 1, right, right, limits=None).ok


def test_complex_parts_are_both_compared() -> None:
    """An error in the imaginary part alone is found; NaN in it too."""
    limits = TABLE["complex64"]
    exact = torch.tensor([1 + 2j], dtype=torch.complex128)
    eager = exact.to(torch.complex64)
    assert compare(eager.clone(), eager, exact, limits=limits).ok
    assert "values" == compare(eager + 0.1j, eager, exact, limits=limits).reason
    broken = torch.tensor([complex(1, NAN)], dtype=torch.complex64)
    assert "nan" == compare(broken, eager, exact, limits=limits).reason


def test_without_a_float64_result_eager_is_the_reference() -> None:
    """The same tolerance holds against eager's own output."""
    eager = torch.tensor([1.0, 2.0])
    limits = TABLE["float32"]
    assert compare(eager * (1 + 1e-7), eager, None, limits=limits).ok
    assert not compare(eager * (1 + 1e-5), eager, None, limits=limits).ok


@given(
    shape=st.lists(st.integers(1, 4), max_size=3),
    data=st.data(),
)
def test_the_place_of_the_worst_element_is_told(shape: list[int], data: st.DataObject) -> None:
    """The index in the message is the one that was changed, in any number of dimensions."""
    exact = torch.arange(1.0, 1 + math.prod(shape), dtype=torch.float64).view(shape)
    place = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
    actual = exact.float()
    actual[place] += 1
    assert f"worst at {list(place)}:" in judge(actual, exact).detail


def test_empty_outputs_compare() -> None:
    """Nothing is equal to nothing."""
    found = judge([], [])
    assert (True, 0.0, 0) == (found.ok, found.max_abs_error, found.nan_count)


@pytest.mark.parametrize(
    ("dtype", "exact", "actual", "right"),
    [
        (torch.bfloat16, -3.4028e38, -3.3895e38, True),  # cut off instead of rounded
        (torch.bfloat16, -3.4028e38, -3.2e38, False),
        (torch.bfloat16, -3.4028e38, 3.3895e38, False),
        (torch.float16, 65519.0, INF, True),
        (torch.float16, 65519.0, -INF, False),
        (torch.float16, 60000.0, INF, False),
        (torch.float16, 65560.0, 65504.0, True),
        (torch.float16, 70000.0, 65504.0, False),
        (torch.float16, INF, 65504.0, False),
        (torch.float16, -65519.0, NAN, False),
    ],
)
def test_either_side_of_overflow_is_right_where_the_exact_result_is_at_it(
    dtype: torch.dtype, exact: float, actual: float, *, right: bool
) -> None:
    """Within the tolerance of the largest number; beside it, an element that settles nothing."""
    assert right is judge([1.0, actual], [1.0, exact], dtype=dtype).ok
