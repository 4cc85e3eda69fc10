"""The words that all formats for people share: title, scores, what is said of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.report.units import NOTHING, magnitude, part_of, percentage, ratio, score

if TYPE_CHECKING:
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary, RunSummary

NO_SPEEDUPS = (
    "No speedups: the kernels ran in Triton's interpreter on the CPU, where times say nothing about a GPU."
)


def title(summary: RunSummary) -> str:
    """Return the report's title, which names suite and device."""
    return f"kagent-bench: suite {summary.run['suite']['name']} on {summary.run['device_label']}"


def run_line(summary: RunSummary) -> str:
    """Return which run this is and how far it is."""
    run = summary.run
    state = f"finished {run['finished']}" if run["finished"] else "not finished"
    return f"{run['name']}, started {run['created']}, {state}"


def interpreted(summary: RunSummary) -> bool:
    """Return whether the kernels ran in Triton's interpreter, so that no time means anything."""
    return bool(summary.run["device"].get("interpreter"))


def score_rows(summary: RunSummary) -> list[tuple[str, str]]:
    """Return the scores as label and value: ours first, then BackendBench's convention for comparison."""
    ours, theirs = summary.scores["ours"], summary.scores["backendbench"]
    rows = [
        ("correct, of all selected operators", part_of(ours["correct"], ours["selected"])),
        ("correct, of the operators with a kernel", part_of(ours["correct"], ours["attempted"])),
    ]
    if not interpreted(summary):
        rows += [
            (
                f"speedup, geometric mean over correct operators (timed: {ours['timed_correct']})",
                ratio(ours["geomean_speedup_of_correct"]),
            ),
            (
                f"correct and faster than {ours['p']:g}x, of all selected operators",
                percentage(ours["perf_at_p"]),
            ),
        ]
    rows.append(
        (
            f"BackendBench's correctness score (operators tested: {theirs['operators']})",
            score(theirs["correctness"]),
        )
    )
    if not interpreted(summary):
        rows += [
            ("BackendBench's performance score (failures count as 1.0)", score(theirs["performance"])),
            (f"BackendBench's perf@{theirs['p']:g} score", score(theirs["perf_at_p"])),
        ]
    return rows


def passed_of_judged(item: OperatorSummary) -> str:
    """Return the passed cases of all that this machine could judge, so that ``7/7`` is what a correct one has."""
    left_out = item.counts["skipped"] + item.counts["not_judged"]
    return f"{item.counts['passed']}/{item.counts['total'] - left_out}"


def worst_error(item: OperatorSummary | CaseRecord, *, relative: bool = True) -> str:
    """Return the largest error, absolute and, if wanted, relative, and the NaNs that should not be there."""
    if item.max_abs_error is None and not item.nan_count:
        return NOTHING
    text = magnitude(item.max_abs_error)
    if relative and item.max_rel_error is not None:
        text += f" (rel {magnitude(item.max_rel_error)})"
    if item.nan_count:
        text += f", {item.nan_count} NaN"
    return text


def backendbench_says(item: OperatorSummary) -> str:
    """Return BackendBench's verdict on an operator in a word."""
    if item.verdict is OperatorVerdict.MISSING or item.backendbench["is_correct"] is None:
        return NOTHING
    return "correct" if item.backendbench["is_correct"] else "incorrect"


def failures(summary: RunSummary) -> list[OperatorSummary]:
    """Return the operators that make the exit code 1."""
    return [item for item in summary.operators if not item.fine]
