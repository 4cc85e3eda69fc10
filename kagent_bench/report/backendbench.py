"""BackendBench's conventions, recomputed from our records so that both tools' numbers can be laid side by side.

There a test passes if ``assert_close`` at 1e-2 says so and fails if the kernel raises; an operator is correct if
all its tests passed; only operators that have a kernel count; and an operator that is wrong or was not timed
enters the geometric mean as 1.0. Two of its slips are not copied: an operator without any test is left out
instead of being correct, and a kernel that killed its process has failed instead of vanishing from the mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kagent_bench.model.verdict import CaseStatus
from kagent_bench.report.statistics import arithmetic_mean, geometric_mean, share

if TYPE_CHECKING:
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary

_NO_TEST = frozenset({CaseStatus.PASSED, CaseStatus.NOT_JUDGED, CaseStatus.SKIPPED})
"""Statuses that are no test there unless its comparison was made; all others are failed tests."""
EAGER_SPEEDUP = 1.0
"""BackendBench takes a wrong kernel to fall back to eager."""


def would_pass(record: CaseRecord) -> bool | None:
    """Return whether BackendBench would call this test passed, None where it would not be a test."""
    if not record.kernel_sha256:
        return None
    if record.backendbench_passed is not None:
        return record.backendbench_passed
    return None if record.status in _NO_TEST else False


def operator_result(records: Iterable[CaseRecord], speedup: float | None) -> dict[str, Any]:
    """Return BackendBench's view of one operator that has a kernel."""
    outcomes = [outcome for record in records if (outcome := would_pass(record)) is not None]
    passed = sum(outcomes)
    return {
        "is_correct": all(outcomes) if outcomes else None,
        "correctness_score": share(passed, len(outcomes)),
        "total_tests": len(outcomes),
        "passed_tests": passed,
        "failed_tests": len(outcomes) - passed,
        "avg_speedup": speedup,
    }


def run_scores(operators: Iterable[OperatorSummary], p: float) -> dict[str, Any]:
    """Return BackendBench's scores of a run: over the operators that have a kernel and a test."""
    tested = [item for item in operators if item.kernel_sha256 and item.backendbench["total_tests"]]
    correct = [bool(item.backendbench["is_correct"]) for item in tested]
    speedups: Sequence[float | None] = [item.backendbench["avg_speedup"] for item in tested]
    timed = any(value is not None for value in speedups)
    as_eager = [
        value if value is not None and right else EAGER_SPEEDUP
        for value, right in zip(speedups, correct, strict=True)
    ]
    faster = sum(
        right and value is not None and value > p for value, right in zip(speedups, correct, strict=True)
    )
    return {
        "operators": len(tested),
        "correct": sum(correct),
        "correctness": arithmetic_mean(correct),
        "performance": geometric_mean(as_eager) if timed else None,
        "perf_at_p": share(faster, len(tested)) if timed else None,
        "p": p,
    }
