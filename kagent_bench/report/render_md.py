"""The ``md`` format: the report for people, also stored as ``OVERALL_SUMMARY.md``."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kagent_bench.model.verdict import CaseStatus
from kagent_bench.report.escape import markdown_block, markdown_code, markdown_text
from kagent_bench.report.reproduce import case_command, run_command
from kagent_bench.report.units import percentage
from kagent_bench.report.wording import (
    NO_SPEEDUPS,
    SPEED_NOTES,
    backendbench_says,
    case_speed,
    coverage_words,
    failures,
    interpreted,
    operator_speed,
    passed_of_judged,
    run_line,
    score_rows,
    spending_cells,
    title,
    worst_error,
)

if TYPE_CHECKING:
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import OperatorSummary, RunSummary

_FINE_STATUSES = frozenset({CaseStatus.PASSED, CaseStatus.NOT_JUDGED, CaseStatus.SKIPPED})
_SHOWN_FAILURES = 3
"""Failing cases shown of each operator, of different kinds first; ``--cases`` lists all."""
_BAD_RUN = "An operator that is missing, crashed, timed out or was rejected counts against the score."


class MarkdownFormat:
    """Renders GitHub-flavoured Markdown."""

    def render(self, summary: RunSummary, *, cases: bool) -> str:
        """Return the whole report, with a table of all cases where ``cases`` is true."""
        blocks = [
            _head(summary),
            _scores(summary),
            _counts(summary),
            _operators(summary),
            _failures(summary),
            _cases(summary) if cases else [],
            _measured(summary.run),
            _reproduce(summary.run),
        ]
        return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _head(summary: RunSummary) -> list[str]:
    lines = [f"# {markdown_text(title(summary))}", "", markdown_text(run_line(summary))]
    if interpreted(summary):
        lines += ["", NO_SPEEDUPS]
    if summary.warnings:
        lines += ["", "Warnings:", "", *(f"- {markdown_text(text)}" for text in summary.warnings)]
    return lines


def _scores(summary: RunSummary) -> list[str]:
    rows = [(markdown_text(label), markdown_text(value)) for label, value in score_rows(summary)]
    return ["## Scores", "", *_table(("score", "value"), rows), "", _BAD_RUN]


def _counts(summary: RunSummary) -> list[str]:
    verdicts, statuses = summary.scores["verdicts"], summary.scores["statuses"]
    cases = summary.scores["cases"]
    total = (
        f"{cases['total']} cases: {cases['strong']} passed cases prove something, {cases['weak']} would also "
        f"be passed by a trivial kernel, {cases['filtered']} were left out by filters."
    )
    skipped = summary.run["selection"]["skipped"]
    notes = [f"- {count} left out: {markdown_text(reason)}" for reason, count in skipped.items()]
    return [
        "## Operators by verdict",
        "",
        *_table(tuple(verdicts), [tuple(str(count) for count in verdicts.values())]),
        "",
        "## Cases by status",
        "",
        *_table(tuple(statuses), [tuple(str(count) for count in statuses.values())]),
        "",
        total,
        *(["", *notes] if notes else []),
    ]


def _operators(summary: RunSummary) -> list[str]:
    timed = not interpreted(summary)
    columns = ["operator", "verdict", "reason", "passed", "not judged", "skipped", "worst error"]
    columns += ["BackendBench says", "device"]
    columns += ["calls", "tokens", "cost"] if summary.scores.get("spending") else []
    rows = []
    for item in summary.operators:
        row = [
            markdown_code(item.op_name),
            item.verdict.value,
            markdown_code(item.reason),
            passed_of_judged(item),
            str(item.counts["not_judged"]),
            str(item.counts["skipped"]),
            worst_error(item),
            backendbench_says(item),
            markdown_text(item.device),
        ]
        row += spending_cells(item) if summary.scores.get("spending") else ()
        light = percentage(item.speed_of_light_share)
        rows.append([*row, operator_speed(item), light] if timed else row)
    named = [*columns, "speedup", "speed of light"] if timed else columns
    notes = [*(_speed_notes(summary) if timed else []), *_coverage(summary)]
    return ["## Operators", "", *_table(named, rows), *notes]


def _coverage(summary: RunSummary) -> list[str]:
    """Say of each judged module which share of its work its kernels do."""
    lines = [
        f"- {markdown_code(item.op_name)}: {markdown_text(coverage_words(item.coverage))}"
        for item in summary.operators
        if item.coverage
    ]
    return (
        ["", "What kernels do of the modules, the rest being declared to stay with the library:", "", *lines]
        if lines
        else []
    )


def _speed_notes(summary: RunSummary) -> list[str]:
    """Say what the notes of timed cases mean, those that occur."""
    found: dict[str, int] = defaultdict(int)
    for item in summary.operators:
        for name, count in item.timed.items():
            found[name] += count
    lines = [f"- `{name}`, {found[name]} cases: {text}" for name, text in SPEED_NOTES.items() if found[name]]
    return ["", "What limits the times:", "", *lines] if lines else []


def _failures(summary: RunSummary) -> list[str]:
    found = failures(summary)
    if not found:
        return []
    by_operator: dict[str, list[CaseRecord]] = defaultdict(list)
    for record in summary.cases:
        if record.status not in _FINE_STATUSES:
            by_operator[record.op_name].append(record)
    lines = ["## What went wrong"]
    for item in found:
        lines += _failure(summary.run, item, by_operator[item.op_name])
    return lines


def _failure(run: Mapping[str, Any], item: OperatorSummary, records: Sequence[CaseRecord]) -> Iterator[str]:
    yield from ("", f"### {markdown_code(item.op_name)}: {item.verdict.value} ({markdown_code(item.reason)})")
    if item.kernel_sha256 is None:
        yield from ("", markdown_text(item.detail))
        return
    shown = _different_first(records)[:_SHOWN_FAILURES]
    for record in shown:
        place = (record.case_id, record.dtype, record.origin)
        yield ""
        yield f"Case {', '.join(map(markdown_code, place))}: {_outcome(record)}"
        yield ""
        yield from markdown_block("\n".join(text for text in (record.call, record.detail) if text))
        yield ""
        yield from markdown_block(case_command(run, record.case_id), "sh")
    if len(records) > len(shown):
        yield from ("", f"and {len(records) - len(shown)} more cases of this operator")


def _outcome(record: CaseRecord) -> str:
    return f"{record.status.value} ({markdown_code(record.reason)})"


def _different_first(records: Sequence[CaseRecord]) -> list[CaseRecord]:
    """Order failing cases so that each kind of failure comes before a second one of any kind."""
    seen: dict[tuple[str, str], int] = {}
    ranked = []
    for place, record in enumerate(records):
        kind = (record.status.value, record.reason)
        seen[kind] = seen.get(kind, 0) + 1
        ranked.append((seen[kind], place, record))
    return [record for _, _, record in sorted(ranked, key=lambda item: item[:2])]


def _cases(summary: RunSummary) -> list[str]:
    columns = ["operator", "case", "status", "reason", "dtype", "origin", "worst error", "call", "device"]
    columns += ["speed"] if any(record.timing is not None for record in summary.cases) else []
    rows = (
        (
            markdown_code(record.op_name),
            markdown_code(record.case_id),
            record.status.value,
            markdown_code(record.reason),
            record.dtype,
            markdown_code(record.origin),
            worst_error(record),
            markdown_code(record.call),
            markdown_text(record.device),
            *([markdown_text(case_speed(record))] if columns[-1] == "speed" else []),
        )
        for record in summary.cases
    )
    return ["## Cases", "", *_table(columns, rows)]


def _measured(run: Mapping[str, Any]) -> list[str]:
    facts = {
        "suite": f"{run['suite']['name']}, sha256 {run['suite']['sha256']}",
        "device": run["device_label"],
        **{f"version of {name}": version or "not installed" for name, version in run["versions"].items()},
        **_facts("containment", run["containment"]),
        **_facts("self-test", run["self_test"]),
    }
    chosen = {path: origin for path, origin in run["origins"].items() if origin != "default"}
    lines = [
        "## How it was judged",
        "",
        *_table(("fact", "value"), [(markdown_text(name), markdown_text(v)) for name, v in facts.items()]),
    ]
    if run["notes"]:
        lines += ["", *(f"- {markdown_text(note)}" for note in run["notes"])]
    lines += ["", "Settings:", "", *markdown_block(json.dumps(run["settings"], indent=2), "json")]
    if chosen:
        rows = [(markdown_code(path), markdown_text(origin)) for path, origin in chosen.items()]
        lines += ["", *_table(("setting", "chosen by"), rows)]
    return lines


def _facts(about: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Return facts by name, without the empty ones; steps that were taken or not are grouped by outcome."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if value in ("", None, [], {}):
            continue
        if isinstance(value, list) and all(isinstance(item, dict) and "state" in item for item in value):
            for item in value:
                key = f"{about}, {item['state']}"
                reason = f" ({item['reason']})" if item.get("reason") else ""
                found[key] = f"{found[key]}, " if key in found else ""
                found[key] += f"{item.get('step', name)}{reason}"
        else:
            found[f"{about}: {name}"] = value if isinstance(value, str) else json.dumps(value)
    return found


def _reproduce(run: Mapping[str, Any]) -> list[str]:
    return ["## The same again", "", *markdown_block(run_command(run), "sh")]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of cells that are escaped already."""
    return [
        "| " + " | ".join(columns) + " |",
        "|" + " --- |" * len(columns),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
