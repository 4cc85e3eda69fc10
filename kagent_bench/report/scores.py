"""The scores of a run: over the whole selection, with the score over attempted operators beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kagent_bench.model.spending import total
from kagent_bench.model.verdict import CaseStatus, OperatorVerdict
from kagent_bench.report.backendbench import run_scores
from kagent_bench.report.statistics import geometric_mean, perf_at_p, perf_curve, share

if TYPE_CHECKING:
    from kagent_bench.model.summary import OperatorSummary

DEFAULT_P = 1.0
"""Threshold of perf@p: faster than the reference at all."""


def scores(operators: Sequence[OperatorSummary], *, p: float = DEFAULT_P) -> dict[str, Any]:
    """Return all scores of a run.

    Each operator counts once, however many cases it has. The denominator is every selected operator: missing,
    crashed and rejected ones are in it. Speedups count for correct operators only.

    Args:
        operators: Every selected operator.
        p: Threshold of perf@p.
    """
    correct = [item for item in operators if item.verdict is OperatorVerdict.CORRECT]
    attempted = [item for item in operators if item.kernel_sha256 is not None]
    speedups = [item.speedup for item in correct]
    verdicts = Counter(item.verdict for item in operators)
    statuses: Counter[str] = Counter()
    for item in operators:
        statuses.update(item.counts)
    return {
        "ours": {
            "selected": len(operators),
            "attempted": len(attempted),
            "correct": len(correct),
            "fine": sum(item.fine for item in operators),
            "correct_of_selected": share(len(correct), len(operators)),
            "correct_of_attempted": share(len(correct), len(attempted)),
            "timed_correct": sum(value is not None for value in speedups),
            "geomean_speedup_of_correct": geometric_mean(speedups),
            "geomean_speedup_low": geometric_mean(item.speedup_low for item in correct),
            "geomean_speedup_high": geometric_mean(item.speedup_high for item in correct),
            "geomean_guaranteed_speedup": geometric_mean(item.guaranteed_speedup for item in correct),
            "geomean_speedup_of_all_timed": geometric_mean(item.speedup_of_all_timed for item in correct),
            "geomean_speedup_over_compile": geometric_mean(item.compile_speedup for item in correct),
            "geomean_speed_of_light_share": geometric_mean(item.speed_of_light_share for item in correct),
            "timed_cases": sum(item.timed.get("cases", 0) for item in operators),
            "counted_cases": sum(item.timed.get("counted", 0) for item in correct),
            "launch_bound_cases": sum(item.timed.get("launch_bound", 0) for item in operators),
            "perf_curve": perf_curve(speedups, len(operators)),
            "perf_at_p": perf_at_p(speedups, len(operators), p=p),
            "p": p,
        },
        "backendbench": run_scores(operators, p),
        "spending": _spending(operators, correct=len(correct)),
        "verdicts": {verdict.value: verdicts[verdict] for verdict in OperatorVerdict},
        "statuses": {status.value: statuses[status.value] for status in CaseStatus},
        "cases": {name: statuses[name] for name in ("total", "strong", "weak", "filtered")},
    }


def _spending(operators: Sequence[OperatorSummary], *, correct: int) -> dict[str, Any] | None:
    """Return what language models took for the whole selection, failures included, and for each correct kernel."""
    known = [item.spending for item in operators if item.spending is not None]
    if not known:
        return None
    spent = total(known)
    each = None if spent.cost_usd is None or not correct else spent.cost_usd / correct
    return {**spent.to_json(), "operators": len(known), "cost_per_correct_usd": each}
