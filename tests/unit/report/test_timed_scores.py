"""Scores of runs with times: each operator once, failures never as 1.0, what proves nothing left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kagent_bench.report.summarise import summarise

SUMMARY = summarise(Path(__file__).parents[2] / "golden" / "samples" / "timed")
BY_NAME = {item.op_name: item for item in SUMMARY.operators}


def test_an_operators_speedup_is_that_of_its_cases() -> None:
    """The geometric mean over its cases that count, with its interval."""
    relu = BY_NAME["relu.default"]
    assert relu.speedup == pytest.approx(2, rel=0.02)
    assert relu.speedup is not None
    assert relu.speedup_low is not None
    assert relu.speedup_high is not None
    assert relu.speedup_low < relu.speedup < relu.speedup_high
    assert relu.compile_speedup == pytest.approx(1.25, rel=0.02)


def test_launch_bound_and_noisy_cases_are_shown_and_do_not_count() -> None:
    """An operator of which nothing else was timed has no speedup, and says why."""
    neg = BY_NAME["neg.default"]
    assert neg.speedup is None
    assert neg.speedup_of_all_timed is not None
    assert (1, 1) == (neg.timed["launch_bound"], neg.timed["noisy"])


def test_one_impossible_time_moves_nothing() -> None:
    """It is marked and left out of every mean but the count."""
    exp = BY_NAME["exp.default"]
    assert exp.speedup == pytest.approx(1, rel=0.02)
    assert 1 == exp.timed["implausible"]


def test_a_wrong_kernel_has_no_speed() -> None:
    """A hundred times as fast and wrong is nothing, not even 1.0."""
    assert BY_NAME["mul.Tensor"].speedup is None
    assert BY_NAME["mul.Tensor"].speedup_of_all_timed is None


def test_the_headline_is_of_correct_operators_and_perf_of_all() -> None:
    """2x, 0.5x and 1x: mean 1; one of six selected operators is faster."""
    ours = SUMMARY.scores["ours"]
    assert ours["geomean_speedup_of_correct"] == pytest.approx(1, rel=0.02)
    assert 3 == ours["timed_correct"]
    assert ours["perf_curve"]["1.5"] == pytest.approx(1 / 6)
    assert ours["perf_curve"]["0.8"] == pytest.approx(2 / 6)
    assert ours["geomean_speedup_of_all_timed"] == pytest.approx(1, rel=0.1)
    assert 1 == ours["launch_bound_cases"]
