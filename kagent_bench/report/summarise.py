"""From a run folder to its summary: a pure function of ``run.json`` and ``results.jsonl``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kagent_bench.model.names import parse_name
from kagent_bench.model.record import CaseRecord
from kagent_bench.model.spending import Spending
from kagent_bench.model.summary import OperatorSummary, RunSummary
from kagent_bench.model.verdict import INTERRUPTED, CaseStatus, OperatorVerdict, operator_verdict
from kagent_bench.report.backendbench import operator_result
from kagent_bench.report.scores import scores
from kagent_bench.report.speed import IMPLAUSIBLE, speed_of
from kagent_bench.report.statistics import arithmetic_mean, geometric_mean, largest
from kagent_bench.stores.results import read_records
from kagent_bench.stores.run_file import RunState, read_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kagent_bench.report.speed import Speed
    from kagent_bench.stores.run_file import RunFile, SelectedCase, SelectedOperator

NO_KERNEL = "no_kernel"
"""Reason of a case whose operator has no kernel."""
FILTERED = "filtered"
"""Reason of an operator that filters left no case of."""
_SHOWN_NAMES = 5
"""Operators that a warning names."""
WEAK = "weak"
"""Reason of ``model.verdict.operator_verdict`` where no passed case proves anything."""
_STATUS_OF = {
    OperatorVerdict.CRASHED: (CaseStatus.CRASHED,),
    OperatorVerdict.TIMEOUT: (CaseStatus.TIMEOUT,),
    OperatorVerdict.REJECTED: (CaseStatus.REJECTED,),
    OperatorVerdict.INCORRECT: (CaseStatus.FAILED, CaseStatus.NOT_RUN),
    OperatorVerdict.NOT_JUDGED: (CaseStatus.NOT_JUDGED, CaseStatus.NOT_RUN),
    OperatorVerdict.SKIPPED: (CaseStatus.SKIPPED,),
}
"""Statuses that lead to a verdict, the one that decides first."""


def summarise(run_dir: Path) -> RunSummary:
    """Summarise a run, finished or not; writes nothing, takes no lock, needs neither torch nor a GPU.

    Only the records that the recorded selection asks for count; those of former kernels or settings do not.

    Raises:
        InputError: the folder is not a run, is of another schema version, or its results are corrupt.
    """
    run = read_run(run_dir)
    known = {record.key: record for record in read_records(run_dir)}
    operators = []
    cases: list[CaseRecord] = []
    for item in run.selection:
        records = [_record(run, item, case, known) for case in item.cases]
        operators.append(_operator(run, item, records))
        cases.extend(records)
    totals = scores(operators)
    return RunSummary(
        run=_run_facts(run_dir, run),
        scores=totals,
        operators=tuple(operators),
        cases=tuple(cases),
        warnings=_warnings(run, cases),
    )


def _record(
    run: RunFile, item: SelectedOperator, case: SelectedCase, known: Mapping[str, CaseRecord]
) -> CaseRecord:
    """Return the record of a selected case, or one that says why there is none."""
    record = known.get(case.key) if case.key else None
    if record is not None:
        return record
    kernel = run.kernels.get(item.op_name)
    return CaseRecord(
        key=case.key or "",
        op_name=item.op_name,
        case_id=case.id,
        kernel_sha256=kernel.sha256 if kernel else "",
        status=CaseStatus.NOT_RUN,
        reason=INTERRUPTED if kernel else NO_KERNEL,
        detail=_interrupted(run) if kernel else "",
        dtype=case.dtype,
        origin=case.origin,
        held_out=case.held_out,
        call=case.call,
        device=run.device_label,
    )


def _interrupted(run: RunFile) -> str:
    if run.state is RunState.FINISHED:
        return "the run ended without a result for this case"
    return "the run did not come to this case: run the same command again to go on"


def _operator(run: RunFile, item: SelectedOperator, records: Sequence[CaseRecord]) -> OperatorSummary:
    kernel = run.kernels.get(item.op_name)
    verdict, reason = operator_verdict((record.judged() for record in records), has_kernel=kernel is not None)
    if item.fault is not None:
        verdict, reason = OperatorVerdict.NOT_JUDGED, item.fault.reason
    elif verdict is OperatorVerdict.SKIPPED and not records and item.skipped:
        reason = FILTERED
    speeds = [
        speed_of(record.timing)
        for record in records
        if record.timing is not None and record.status is CaseStatus.PASSED
    ]
    believed = [speed for speed in speeds if speed.ratio is not None and IMPLAUSIBLE not in speed.notes]
    right = verdict is OperatorVerdict.CORRECT
    counted = [speed for speed in speeds if speed.counts and right]
    return OperatorSummary(
        op_name=item.op_name,
        verdict=verdict,
        reason=reason,
        detail=_detail(item, verdict, reason, records),
        kind=item.kind,
        counts=_counts(records, filtered=sum(item.skipped.values())),
        backendbench=operator_result(
            records if kernel else (),
            arithmetic_mean(speed.ratio.value for speed in believed if speed.ratio),
        ),
        max_abs_error=largest(record.max_abs_error for record in records),
        max_rel_error=largest(record.max_rel_error for record in records),
        nan_count=max((record.nan_count for record in records if record.nan_count is not None), default=None),
        speedup=geometric_mean(speed.ratio.value for speed in counted if speed.ratio),
        speedup_low=geometric_mean(speed.ratio.low for speed in counted if speed.ratio),
        speedup_high=geometric_mean(speed.ratio.high for speed in counted if speed.ratio),
        guaranteed_speedup=geometric_mean(speed.guaranteed for speed in counted),
        speedup_of_all_timed=geometric_mean(speed.ratio.value for speed in believed if speed.ratio and right),
        compile_speedup=geometric_mean(
            other.value for speed in counted for name, other in speed.others.items()
        ),
        speed_of_light_share=geometric_mean(speed.light_share for speed in counted),
        timed=_timed(speeds),
        coverage=_coverage(records),
        device=run.device_label,
        spending=_spending(run, item.op_name),
        kernel_sha256=kernel.sha256 if kernel else None,
        kernel_path=kernel.path if kernel else None,
    )


def _timed(speeds: Sequence[Speed]) -> dict[str, int]:
    """Return how many cases were timed, how many of them count, and how many carry each note."""
    notes = Counter(note for speed in speeds for note in speed.notes)
    return {
        "cases": sum(speed.ratio is not None for speed in speeds),
        "counted": sum(speed.counts for speed in speeds),
        **dict(sorted(notes.items())),
    }


def _coverage(records: Sequence[CaseRecord]) -> dict[str, float]:
    """Return the least coverage of the judged cases of a module, by what is counted."""
    counted = {
        "operators": [record.coverage_operators for record in records],
        "flops": [record.coverage_flops for record in records],
        "bytes": [record.coverage_bytes for record in records],
    }
    known = {name: [share for share in shares if share is not None] for name, shares in counted.items()}
    return {name: min(shares) for name, shares in known.items() if shares}


def _detail(
    item: SelectedOperator, verdict: OperatorVerdict, reason: str, records: Sequence[CaseRecord]
) -> str:
    if item.fault is not None:
        return item.fault.detail
    if verdict is OperatorVerdict.MISSING:
        return f"no kernel file in {parse_name(item.op_name).folder}/"
    if reason == FILTERED:
        return "; ".join(sorted(item.skipped))
    if reason == WEAK:
        passed = [set(record.survivors) for record in records if record.status is CaseStatus.PASSED]
        trivial = ", ".join(sorted(set.intersection(*passed))) if passed else ""
        return f"every judged case passed, but a trivial kernel ({trivial}) would pass them too"
    for status in _STATUS_OF.get(verdict, ()):
        for record in records:
            if record.status is status:
                return record.detail
    return ""


def _spending(run: RunFile, op_name: str) -> Spending | None:
    stored = run.spending.get(op_name)
    return None if stored is None else Spending.from_json(stored)


def _counts(records: Sequence[CaseRecord], *, filtered: int) -> dict[str, int]:
    by_status = Counter(record.status for record in records)
    by_status[CaseStatus.SKIPPED] += filtered
    strong = sum(record.status is CaseStatus.PASSED and record.strong for record in records)
    return {
        **{status.value: by_status[status] for status in CaseStatus},
        "total": len(records) + filtered,
        "strong": strong,
        "weak": by_status[CaseStatus.PASSED] - strong,
        "filtered": filtered,
    }


def _run_facts(run_dir: Path, run: RunFile) -> dict[str, Any]:
    """Return what ``run.json`` says, with the selection as counts: its cases are in the summary itself."""
    facts = run.to_json()
    del facts["selection"], facts["kernels"], facts["spending"]
    skipped: Counter[str] = Counter()
    for item in run.selection:
        skipped.update(item.skipped)
    return {
        "name": run_dir.resolve().name,
        "folder": str(run_dir),
        **facts,
        "device_label": run.device_label,
        "selection": {
            "operators": len(run.selection),
            "cases": sum(len(item.cases) for item in run.selection),
            "kernels": len(run.kernels),
            "skipped": dict(sorted(skipped.items())),
        },
    }


def _warnings(run: RunFile, cases: Sequence[CaseRecord]) -> tuple[str, ...]:
    found = list(run.warnings)
    if all(record.reason in {INTERRUPTED, NO_KERNEL} for record in cases):
        found.append("no results: no case was judged in this run")
    interrupted = sum(record.reason == INTERRUPTED for record in cases)
    if interrupted:
        found.append(f"unfinished: {interrupted} of {len(cases)} selected cases have no result")
    found.extend(_compile_warnings(run, cases))
    if not run.selection:
        found.append("the selection is empty: there is nothing to score")
    return tuple(found)


def _compile_warnings(run: RunFile, cases: Sequence[CaseRecord]) -> list[str]:
    """Say for which kernels it is not known that a compiler would take what the interpreter ran."""
    target = run.settings.get("evaluate", {}).get("compile_target", "")
    found = []
    if target == "none" and any(record.launches for record in cases):
        found.append("compile_target is none: what the interpreter ran was not compiled for any GPU")
    for prefix, words in (("unavailable: ", "not known to compile"), ("fails: ", "not compiling")):
        hit = [record for record in cases if record.compile_check.startswith(prefix)]
        names = sorted({record.op_name for record in hit if record.status is CaseStatus.PASSED})
        if names:
            example = next(record.compile_check for record in hit if record.op_name == names[0])
            shown = ", ".join(names[:_SHOWN_NAMES]) + (", ..." if len(names) > _SHOWN_NAMES else "")
            found.append(f"{words} for {target}: kernels of {shown} ({example.removeprefix(prefix)})")
    return found
