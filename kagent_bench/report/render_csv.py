"""The ``csv`` format: one row per operator (BackendBench's columns first, then ours), or one row per case."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kagent_bench.model.verdict import CaseStatus
from kagent_bench.report.escape import csv_cell
from kagent_bench.report.speed import speed_of

if TYPE_CHECKING:
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary, RunSummary

BACKENDBENCH_COLUMNS = (
    "operator",
    "total_tests",
    "correctness_tests",
    "performance_tests",
    "passed_correctness_tests",
    "passed_performance_tests",
    "failed_correctness_tests",
    "failed_performance_tests",
    "correctness_rate",
    "avg_speedup",
    "geomean_speedup",
    "max_absolute_error",
    "max_relative_error",
)
"""Columns of BackendBench's ``operator_summary.csv``, in its order and by its convention; what was not measured
is empty here and 0.0 there, and ``total_tests`` counts this operator's tests, not the run's operators."""
OWN_COLUMNS = (
    "verdict",
    "reason",
    "detail",
    "kind",
    "device",
    "speedup",
    "speedup_low",
    "speedup_high",
    "guaranteed_speedup",
    "speedup_of_all_timed",
    "compile_speedup",
    "speed_of_light_share",
    "timed_cases",
    "counted_cases",
    "launch_bound_cases",
    "total_cases",
    *(f"{status.value}_cases" for status in CaseStatus),
    "strong_cases",
    "weak_cases",
    "filtered_cases",
    "nan_count",
    "backendbench_is_correct",
    "model_calls",
    "model_failed_calls",
    "tokens_in",
    "tokens_out",
    "tokens_cached",
    "cost_usd",
    "kernel_sha256",
    "kernel_path",
)
SPEED_COLUMNS = (
    "speedup",
    "speedup_low",
    "speedup_high",
    "finding",
    "candidate_s",
    "reference_s",
    "guaranteed_speedup",
    "speed_of_light_share",
    "speed_notes",
)
"""Of a timed case; seconds are medians."""
CASE_COLUMNS = (
    "operator",
    "case_id",
    "status",
    "reason",
    "detail",
    "dtype",
    "origin",
    "held_out",
    "strong",
    "survivors",
    "call",
    "device",
    "rounds",
    "max_absolute_error",
    "max_relative_error",
    "nan_count",
    "tolerance",
    "backendbench_passed",
    "deterministic",
    "launches",
    "library_calls",
    "kernel_sha256",
    "key",
    "untimed",
    *SPEED_COLUMNS,
)


class CsvFormat:
    """Renders one table; text cells are guarded against being taken for formulas."""

    def render(self, summary: RunSummary, *, cases: bool) -> str:
        """Return the operators' table, or the cases' table where ``cases`` is true."""
        if cases:
            return _table(CASE_COLUMNS, (_case_row(record) for record in summary.cases))
        return _table(BACKENDBENCH_COLUMNS + OWN_COLUMNS, (_operator_row(item) for item in summary.operators))


def _operator_row(item: OperatorSummary) -> dict[str, object]:
    theirs, counts, timed = item.backendbench, item.counts, item.timed.get("cases", 0)
    return {
        "operator": item.op_name,
        "total_tests": theirs["total_tests"],
        "correctness_tests": theirs["total_tests"],
        "performance_tests": timed,
        "passed_correctness_tests": theirs["passed_tests"],
        "passed_performance_tests": timed,
        "failed_correctness_tests": theirs["failed_tests"],
        "failed_performance_tests": 0,
        "correctness_rate": theirs["correctness_score"],
        "avg_speedup": theirs["avg_speedup"],
        "geomean_speedup": item.speedup,
        "max_absolute_error": item.max_abs_error,
        "max_relative_error": item.max_rel_error,
        "verdict": item.verdict.value,
        "reason": item.reason,
        "detail": item.detail,
        "kind": item.kind,
        "device": item.device,
        "speedup": item.speedup,
        "speedup_low": item.speedup_low,
        "speedup_high": item.speedup_high,
        "guaranteed_speedup": item.guaranteed_speedup,
        "speedup_of_all_timed": item.speedup_of_all_timed,
        "compile_speedup": item.compile_speedup,
        "speed_of_light_share": item.speed_of_light_share,
        "timed_cases": item.timed.get("cases", 0),
        "counted_cases": item.timed.get("counted", 0),
        "launch_bound_cases": item.timed.get("launch_bound", 0),
        "total_cases": counts["total"],
        **{f"{status.value}_cases": counts[status.value] for status in CaseStatus},
        "strong_cases": counts["strong"],
        "weak_cases": counts["weak"],
        "filtered_cases": counts["filtered"],
        "nan_count": item.nan_count,
        "backendbench_is_correct": theirs["is_correct"],
        **_spending(item),
        "kernel_sha256": item.kernel_sha256,
        "kernel_path": item.kernel_path,
    }


def _spending(item: OperatorSummary) -> dict[str, object]:
    spent = item.spending
    return {
        "model_calls": None if spent is None else spent.calls,
        "model_failed_calls": None if spent is None else spent.failed_calls,
        "tokens_in": None if spent is None else spent.tokens_in,
        "tokens_out": None if spent is None else spent.tokens_out,
        "tokens_cached": None if spent is None else spent.tokens_cached,
        "cost_usd": None if spent is None else spent.cost_usd,
    }


def _case_row(record: CaseRecord) -> dict[str, object]:
    return {
        "operator": record.op_name,
        "case_id": record.case_id,
        "status": record.status.value,
        "reason": record.reason,
        "detail": record.detail,
        "dtype": record.dtype,
        "origin": record.origin,
        "held_out": record.held_out,
        "strong": record.strong,
        "survivors": " ".join(record.survivors),
        "call": record.call,
        "device": record.device,
        "rounds": record.rounds,
        "max_absolute_error": record.max_abs_error,
        "max_relative_error": record.max_rel_error,
        "nan_count": record.nan_count,
        "tolerance": record.tolerance,
        "backendbench_passed": record.backendbench_passed,
        "deterministic": record.deterministic,
        "launches": record.launches,
        "library_calls": " ".join(record.library_calls),
        "kernel_sha256": record.kernel_sha256,
        "key": record.key,
        "untimed": record.untimed,
        **_speed_cells(record),
    }


def _speed_cells(record: CaseRecord) -> dict[str, object]:
    if record.timing is None or record.status is not CaseStatus.PASSED:
        return dict.fromkeys(SPEED_COLUMNS)
    speed = speed_of(record.timing)
    ratio = speed.ratio
    return {
        "speedup": ratio.value if ratio else None,
        "speedup_low": ratio.low if ratio else None,
        "speedup_high": ratio.high if ratio else None,
        "finding": speed.finding.value if speed.finding else None,
        "candidate_s": speed.candidate_s,
        "reference_s": speed.reference_s,
        "guaranteed_speedup": speed.guaranteed,
        "speed_of_light_share": speed.light_share,
        "speed_notes": " ".join(speed.notes),
    }


def _table(columns: Iterable[str], rows: Iterable[Mapping[str, object]]) -> str:
    names = list(columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([csv_cell(row[name]) for name in names] for row in rows)
    return text.getvalue()
