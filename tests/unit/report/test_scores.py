"""Scores over the whole selection, ours and BackendBench's."""

from __future__ import annotations

import math

from kagent_bench.model.summary import OperatorSummary
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.report.scores import scores


def operator(
    name: str, verdict: OperatorVerdict, *, speedup: float | None = None, cases: int = 2, tests: int = 2
) -> OperatorSummary:
    """Return an operator's summary; a missing one has no kernel."""
    right = verdict is OperatorVerdict.CORRECT
    return OperatorSummary(
        op_name=name,
        verdict=verdict,
        reason="" if right else "values",
        detail="",
        kind="value",
        counts={"passed" if right else "failed": cases, "total": cases, "strong": cases if right else 0},
        backendbench={
            "is_correct": right,
            "correctness_score": float(right),
            "total_tests": tests,
            "passed_tests": tests if right else 0,
            "failed_tests": 0 if right else tests,
            "avg_speedup": speedup,
        },
        max_abs_error=None,
        max_rel_error=None,
        speedup=speedup,
        device="NVIDIA H200",
        kernel_sha256=None if verdict is OperatorVerdict.MISSING else "ab",
        kernel_path=None,
    )


def test_a_wrong_operator_gives_neither_its_speedup_nor_one() -> None:
    """Correct 2x with 1,000 cases, correct 0.5x with 2, wrong "100x": 2/3, 1.0 and 1/3."""
    found = scores(
        [
            operator("a.default", OperatorVerdict.CORRECT, speedup=2.0, cases=1000),
            operator("b.default", OperatorVerdict.CORRECT, speedup=0.5),
            operator("c.default", OperatorVerdict.INCORRECT, speedup=100.0),
        ]
    )
    ours = found["ours"]
    assert math.isclose(2 / 3, ours["correct_of_selected"])
    assert math.isclose(1.0, ours["geomean_speedup_of_correct"])
    assert math.isclose(1 / 3, ours["perf_at_p"])
    assert 2 == ours["timed_correct"]


def test_backendbench_counts_a_failure_as_eager() -> None:
    """Its geometric mean takes the wrong 100x as 1.0, which pulls 4x and 1.0 to 2.0."""
    found = scores(
        [
            operator("a.default", OperatorVerdict.CORRECT, speedup=4.0),
            operator("c.default", OperatorVerdict.INCORRECT, speedup=100.0),
        ]
    )
    assert math.isclose(2.0, found["backendbench"]["performance"])
    assert math.isclose(4.0, found["ours"]["geomean_speedup_of_correct"])
    assert 0.5 == found["backendbench"]["perf_at_p"]


def test_missing_operators_are_in_our_denominator_only() -> None:
    """One correct of two selected is a half; of the attempted and for BackendBench it is all."""
    found = scores(
        [
            operator("a.default", OperatorVerdict.CORRECT),
            operator("b.default", OperatorVerdict.MISSING, tests=0),
        ]
    )
    assert (0.5, 1.0) == (found["ours"]["correct_of_selected"], found["ours"]["correct_of_attempted"])
    assert (1, 1.0) == (found["backendbench"]["operators"], found["backendbench"]["correctness"])


def test_nothing_timed_has_no_speedup() -> None:
    """Without times there is no geometric mean, no perf@p, and no 1.0 from anywhere."""
    found = scores([operator("a.default", OperatorVerdict.CORRECT)])
    assert found["ours"]["geomean_speedup_of_correct"] is None
    assert found["ours"]["perf_at_p"] is None
    assert found["backendbench"]["performance"] is None


def test_an_empty_selection_has_no_score() -> None:
    """Nothing selected is no division by zero and no NaN."""
    found = scores([])
    assert found["ours"]["correct_of_selected"] is None
    assert found["backendbench"]["correctness"] is None
    assert 0 == sum(found["verdicts"].values())


def test_every_verdict_is_counted() -> None:
    """Each verdict has its place, also where it did not occur."""
    found = scores([operator(f"{verdict.value}.x", verdict) for verdict in OperatorVerdict])
    assert dict.fromkeys((verdict.value for verdict in OperatorVerdict), 1) == found["verdicts"]
