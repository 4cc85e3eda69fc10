"""The words that all formats for people share: title, scores, what is said of an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kagent_bench.model.verdict import CaseStatus, OperatorVerdict
from kagent_bench.report.speed import speed_of
from kagent_bench.report.units import (
    NOTHING,
    interval,
    magnitude,
    money,
    part_of,
    percentage,
    ratio,
    score,
    seconds,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary, RunSummary

NO_SPEEDUPS = (
    "No speedups: the kernels ran in Triton's interpreter on the CPU, where times say nothing about a GPU."
)

SPEED_NOTES = {
    "launch_bound": "the reference takes no longer than launching nothing; left out of the headline",
    "host_bound": "the kernel's host code takes longer than the device; device time is bounded loosely from outside",
    "noisy": "the interval is too wide to say anything; left out of the headline; try an idle machine",
    "spread": "single calls differ much; look for other work on the device, or for a kernel with several speeds",
    "throttled": "the driver slowed the device down while it was timed; see the power and thermal limits",
    "busy_device": "another process was using the device",
    "implausible": "faster than the device can be, or contradicted by the harness's clock; left out",
    "fixed_contents": "the inputs are the same in every call, so a kernel that remembers results cannot be told",
    "few_slots": "device memory had room for few sets of inputs",
}
"""What a note on a time means, and what to do."""


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
                f"speedup over eager, geometric mean over correct operators (timed: {ours['timed_correct']})",
                interval(
                    ours["geomean_speedup_of_correct"],
                    ours["geomean_speedup_low"],
                    ours["geomean_speedup_high"],
                ),
            ),
            (
                "the same, as far as the harness's own clock guarantees it",
                ratio(ours["geomean_guaranteed_speedup"]),
            ),
            (
                f"the same with launch-bound ({ours['launch_bound_cases']}) and noisy cases (of {ours['timed_cases']})",
                ratio(ours["geomean_speedup_of_all_timed"]),
            ),
            *(
                [("speedup over torch.compile", ratio(ours["geomean_speedup_over_compile"]))]
                if ours["geomean_speedup_over_compile"] is not None
                else []
            ),
            (
                "share of the speed of light, geometric mean",
                percentage(ours["geomean_speed_of_light_share"]),
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
    return rows + _spending_rows(summary)


def _spending_rows(summary: RunSummary) -> list[tuple[str, str]]:
    spent = summary.scores.get("spending")
    if spent is None:
        return []
    failed = f" ({spent['failed_calls']} failed)" if spent["failed_calls"] else ""
    tokens = f"{spent['tokens_in'] + spent['tokens_out']:,}"
    return [
        (f"language model: calls{failed}", f"{spent['calls']:,}"),
        (f"language model: tokens ({spent['tokens_in']:,} in, {spent['tokens_cached']:,} cached)", tokens),
        ("language model: cost", money(spent["cost_usd"])),
        ("cost per correct kernel, failures included", cost_per_correct(spent)),
    ]


def cost_per_correct(spent: Mapping[str, Any]) -> str:
    """Return what each correct kernel cost."""
    if spent["cost_usd"] is not None and spent["cost_per_correct_usd"] is None:
        return f"{NOTHING}: none is correct"
    return money(spent["cost_per_correct_usd"])


def spending_cells(item: OperatorSummary) -> tuple[str, str, str]:
    """Return an operator's calls, tokens and cost."""
    spent = item.spending
    if spent is None:
        return NOTHING, NOTHING, NOTHING
    return f"{spent.calls:,}", f"{spent.tokens_in + spent.tokens_out:,}", money(spent.cost_usd)


def operator_speed(item: OperatorSummary) -> str:
    """Return an operator's speedup with its interval, or why a timed one has none."""
    if item.speedup is not None:
        return interval(item.speedup, item.speedup_low, item.speedup_high)
    if not item.timed.get("cases") or item.verdict is not OperatorVerdict.CORRECT:
        return NOTHING
    reasons = [name for name in ("launch_bound", "noisy", "implausible") if item.timed.get(name)]
    return " ".join(reasons) or NOTHING


def case_speed(record: CaseRecord) -> str:
    """Return a case's speedup with its interval, what it says, and what is to be known of it."""
    if record.timing is None or record.status is not CaseStatus.PASSED:
        return record.untimed or NOTHING
    speed = speed_of(record.timing)
    if speed.ratio is None or speed.finding is None:
        return f"host {seconds(speed.candidate_s)}"
    times = f"{seconds(speed.candidate_s)} against {seconds(speed.reference_s)}"
    notes = f" ({', '.join(speed.notes)})" if speed.notes else ""
    found = interval(speed.ratio.value, speed.ratio.low, speed.ratio.high)
    return f"{found} {speed.finding.value}: {times}{notes}"


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


def coverage_words(coverage: Mapping[str, float]) -> str:
    """Return in words which share of a module's work runs in authored kernels."""
    names = {"operators": "operators", "flops": "FLOPs", "bytes": "bytes"}
    shares = ", ".join(f"{coverage[name]:.0%} of {word}" for name, word in names.items() if name in coverage)
    return f"kernels do {shares}"
