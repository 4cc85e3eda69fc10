"""What language models took is summed over the whole selection, and an unknown price stays unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kagent_bench.model.spending import Spending
from kagent_bench.model.summary import OperatorSummary
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.report.scores import scores
from kagent_bench.report.wording import cost_per_correct

COUNTS = dict.fromkeys(
    "passed failed rejected crashed timeout not_judged skipped not_run total strong weak filtered".split(), 0
)
RIGHT = OperatorSummary(
    op_name="relu.default",
    verdict=OperatorVerdict.CORRECT,
    reason="",
    detail="",
    kind="value",
    counts=COUNTS,
    backendbench={
        "is_correct": True,
        "correctness_score": 1.0,
        "avg_speedup": None,
        "total_tests": 1,
        "passed_tests": 1,
        "failed_tests": 0,
    },
    max_abs_error=None,
    max_rel_error=None,
    speedup=None,
    device="cpu",
    kernel_sha256="0",
    kernel_path="k.py",
    spending=Spending(calls=2, tokens_in=10, tokens_out=5, cost_usd=0.25),
)
WRONG = replace(RIGHT, verdict=OperatorVerdict.INCORRECT, spending=Spending(calls=4, cost_usd=0.75))


def _spent(*operators: OperatorSummary) -> Any:
    return scores(operators)["spending"]


def test_failures_are_paid_for_by_the_correct_kernels() -> None:
    """The cost per correct kernel is all that was spent, over those that came of it."""
    spent = _spent(RIGHT, WRONG, replace(RIGHT, spending=None))

    assert (6, 1.0, 0.5, 2) == (
        spent["calls"],
        spent["cost_usd"],
        spent["cost_per_correct_usd"],
        spent["operators"],
    )


def test_an_unknown_price_stays_unknown() -> None:
    """Never zero, and never the sum of the known ones."""
    spent = _spent(RIGHT, replace(WRONG, spending=Spending(calls=1, cost_usd=None)))

    assert (None, None) == (spent["cost_usd"], spent["cost_per_correct_usd"])
    assert "unknown" == cost_per_correct(spent)


def test_without_a_correct_kernel_there_is_no_cost_of_one() -> None:
    """It is said so."""
    assert "n/a: none is correct" == cost_per_correct(_spent(WRONG))


def test_without_a_language_model_nothing_is_said() -> None:
    """The report of a generator that asks none has no such rows."""
    assert _spent(replace(RIGHT, spending=None)) is None


@pytest.mark.parametrize("unknown", [True, False])
def test_sums_are_the_sums(*, unknown: bool) -> None:
    """Every field of both."""
    one = Spending(
        calls=1, failed_calls=2, tokens_in=3, tokens_out=4, tokens_cached=5, uncounted_calls=6, latency_s=7
    )
    other = replace(one, cost_usd=None if unknown else 8.0)

    assert (
        Spending(
            calls=2,
            failed_calls=4,
            tokens_in=6,
            tokens_out=8,
            tokens_cached=10,
            uncounted_calls=12,
            cost_usd=None if unknown else 8.0,
            latency_s=14,
        )
        == one + other
    )
