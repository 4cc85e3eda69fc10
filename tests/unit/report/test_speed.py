"""What stored samples say: ratio, interval, finding, notes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.timing import EAGER, HOST_METHOD
from kagent_bench.report.speed import (
    MOST_CLOCK_DIFFERENCE_S,
    Finding,
    Ratio,
    finding_of,
    midmean,
    ratio_of,
    speed_of,
)
from tests.timings import CALLS, TURNS, samples, timing

RUNS = 200
MOST_FALSE = 16
"""Of 200 equal pairs at a confidence of 95 %: 10 are expected, more than 16 come once in fifty times."""


def test_the_interval_holds_the_truth() -> None:
    """At 95 % about one interval in twenty misses the true ratio, not more."""
    missed = 0
    for seed in range(RUNS):
        ratio = ratio_of(samples(20e-6, seed=2 * seed), samples(30e-6, seed=2 * seed + 1))
        assert ratio is not None
        missed += not ratio.low <= 1.5 <= ratio.high
    assert missed <= MOST_FALSE


def test_equal_kernels_are_not_told_apart() -> None:
    """Noise alone makes no difference."""
    found = [speed_of(timing(50e-6, 50e-6, seed=seed)).finding for seed in range(RUNS)]
    assert RUNS - 2 <= found.count(Finding.NO_DIFFERENCE)


@pytest.mark.parametrize(("factor", "expected"), [(0.97, Finding.FASTER), (1.03, Finding.SLOWER)])
def test_three_percent_of_fifty_microseconds_show(factor: float, expected: Finding) -> None:
    """A small difference that is there is seen."""
    found = [speed_of(timing(50e-6 * factor, 50e-6, seed=seed)).finding for seed in range(100)]
    assert 95 <= found.count(expected)


def test_drift_falls_out() -> None:
    """A device that slows down by a third during the measurement slows both sides."""
    ratio = ratio_of(samples(20e-6, drift=0.03, seed=1), samples(20e-6, drift=0.03, seed=2))
    assert ratio is not None
    assert 0.99 < ratio.value < 1.01
    assert ratio.half_width < 0.02


def test_one_disturbed_turn_moves_nothing() -> None:
    """A turn that met another program's work is one of many."""
    calm = samples(20e-6, seed=1)
    disturbed = (*calm[:-1], tuple(10 * sample for sample in calm[-1]))
    ratio = ratio_of(disturbed, samples(20e-6, seed=2))
    assert ratio is not None
    assert 0.98 < ratio.value < 1.02


@given(factor=st.floats(0.01, 100))
def test_the_ratio_is_that_of_the_sides(factor: float) -> None:
    """Swapping the sides inverts ratio and interval."""
    first, second = samples(20e-6, seed=3), samples(20e-6 * factor, seed=4)
    there, back = ratio_of(first, second), ratio_of(second, first)
    assert there is not None
    assert back is not None
    assert pytest.approx(1 / there.value) == back.value
    assert pytest.approx(1 / there.low) == back.high


@pytest.mark.parametrize("turns", range(1, 9))
def test_few_turns_give_a_wide_interval(turns: int) -> None:
    """With too few turns for the confidence the interval is everything that was seen."""
    first, second = samples(20e-6, seed=5)[:turns], samples(20e-6, seed=6)[:turns]
    ratio = ratio_of(first, second)
    assert ratio is not None
    assert ratio.low <= ratio.value <= ratio.high
    if turns < 6:  # 2 of 2 ** 5 sign patterns are more than 5 %
        ratios = [midmean(b) / midmean(a) for a, b in zip(first, second, strict=True)]
        assert ratio.low == pytest.approx(min(ratios))
        assert ratio.high == pytest.approx(max(ratios))


@pytest.mark.parametrize(
    ("values", "expected"),
    [([5.0], 5.0), ([1.0, 3.0], 2.0), ([1.0, 2.0, 9.0], 3.0), ([1, 2, 3, 4], 2.5), ([9, 1, 1, 2, 2], 1.7)],
)
def test_the_middle_half_is_averaged(values: list[float], expected: float) -> None:
    """The outermost of the middle half count in part: of three, half of the outer ones."""
    assert pytest.approx(expected) == midmean(values)


@pytest.mark.parametrize(
    ("candidate_gauge_s", "counted_s"),
    [
        (13.0e-6, 0.0),
        (13.1e-6, 0.06e-6),
        (12.9e-6, -0.06e-6),
        (19e-6, MOST_CLOCK_DIFFERENCE_S),
        (1e-6, -MOST_CLOCK_DIFFERENCE_S),
    ],
)
def test_what_the_two_clocks_read_too_much_falls_out(candidate_gauge_s: float, counted_s: float) -> None:
    """What the candidate's clock reads more for an equal kernel is taken off its samples in good part, within bounds."""
    gauges: dict[str, Any] = {
        "candidate_gauge_s": (candidate_gauge_s,) * 8,
        "reference_gauge_s": (13e-6,) * 8,
    }
    made = timing(10e-6, 10e-6, spread=0.0, **gauges)
    speed = speed_of(made)
    assert speed.ratio is not None
    assert pytest.approx(10e-6 - counted_s) == speed.candidate_s
    assert pytest.approx(10e-6 / (10e-6 - counted_s)) == speed.ratio.value


def test_no_time_becomes_negative() -> None:
    """A kernel that launches nothing is quick, not quicker than nothing."""
    speed = speed_of(
        timing(1e-9, 10e-6, spread=0.0, candidate_gauge_s=(13.3e-6,), reference_gauge_s=(13e-6,))
    )
    assert 0 < speed.candidate_s


def test_nothing_timed_is_nothing() -> None:
    """No turns, no ratio."""
    assert ratio_of((), ()) is None


def test_short_kernels_need_more() -> None:
    """A difference of a tenth of a microsecond is no difference between two processes."""
    ratio = Ratio(value=1.02, low=1.015, high=1.025)
    assert Finding.NO_DIFFERENCE == finding_of(ratio, 5e-6)
    assert Finding.FASTER == finding_of(ratio, 500e-6)


def test_an_impossible_time_is_marked_and_does_not_count() -> None:
    """64 MiB in 1e-12 s is no measurement."""
    impossible = timing(1e-12, 50e-6, read_bytes=64 << 20, written_bytes=64 << 20, must_read_bytes=64 << 20)
    speed = speed_of(impossible)
    assert "implausible" in speed.notes
    assert not speed.counts


def test_a_launch_bound_case_does_not_count() -> None:
    """Where eager itself only launches, nothing can be told."""
    speed = speed_of(timing(3.1e-6, 3.5e-6))
    assert "launch_bound" in speed.notes
    assert not speed.counts
    assert speed.ratio is not None


def test_a_kernel_with_two_speeds_is_marked() -> None:
    """1 ms and 10 ms by turns: the spread shows."""
    turns = tuple(
        tuple(1e-3 if (turn + call) % 2 else 10e-3 for call in range(CALLS)) for turn in range(TURNS)
    )
    assert "spread" in speed_of(dataclasses.replace(timing(1e-3, 1e-3), candidate_s=turns)).notes


def test_a_wide_interval_does_not_count() -> None:
    """Noise is not a result."""
    speed = speed_of(timing(50e-6, 50e-6, spread=0.5))
    assert "noisy" in speed.notes
    assert not speed.counts


def test_host_times_make_no_speedup() -> None:
    """Without a device there are times and no ratio."""
    speed = speed_of(timing(1e-3, 2e-3, method=HOST_METHOD))
    assert speed.ratio is None
    assert speed.finding is None
    assert not speed.counts
    assert 0 < speed.candidate_s


def test_the_outer_clock_guarantees_less() -> None:
    """What the kernel's clock says counts only as far as the supervisor's allows it."""
    speed = speed_of(timing(10e-6, 40e-6, external_s=22e-6, renewal_s=2e-6))
    assert speed.guaranteed == pytest.approx(40 / 20, rel=0.02)
    assert speed.ratio is not None
    assert speed.ratio.value == pytest.approx(4, rel=0.02)


def test_the_speed_of_light() -> None:
    """All bytes over bandwidth, or operations over rate, over the median."""
    by_bytes = speed_of(timing(10e-6, 40e-6, read_bytes=12_000_000, written_bytes=12_000_000))
    assert by_bytes.light_share == pytest.approx(5 / 10, rel=0.02)
    by_rate = speed_of(timing(10e-6, 40e-6, flops=int(67e12 * 8e-6)))
    assert by_rate.light_share == pytest.approx(8 / 10, rel=0.02)
    assert speed_of(timing(10e-6, 40e-6, peak_bytes_per_s=None)).light_share is None


def test_throttling_and_other_work_are_named() -> None:
    """What the driver says of the device stands beside the time."""
    state = {"throttled": ["software power cap"], "other_processes": 1}
    notes = speed_of(timing(10e-6, 40e-6, device_state=state)).notes
    assert {"throttled", "busy_device"} <= set(notes)


def test_other_references_have_ratios_of_their_own() -> None:
    """torch.compile beside eager."""
    beside = timing(10e-6, 40e-6)
    both = dataclasses.replace(
        beside, references_s={**beside.references_s, "torch-compile": samples(20e-6, seed=9)}
    )
    others = speed_of(both).others
    assert others["torch-compile"].value == pytest.approx(2, rel=0.02)
    assert EAGER not in others
