"""The ``table`` format: a short report for the terminal."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kagent_bench.model.verdict import FINE, CaseStatus, OperatorVerdict
from kagent_bench.report.escape import one_line, printable
from kagent_bench.report.units import ratio
from kagent_bench.report.wording import (
    NO_SPEEDUPS,
    backendbench_says,
    case_speed,
    coverage_words,
    failures,
    interpreted,
    operator_speed,
    passed_of_judged,
    run_line,
    score_rows,
    title,
    worst_error,
)

if TYPE_CHECKING:
    from kagent_bench.model.summary import RunSummary

_NARROWEST = 80
_WIDEST = 160
_WIDE_FROM = 130
"""Columns from which each row has room for the device, for BackendBench's verdict and for what went wrong in
words; below, the title names the device and the reason code stands alone."""
_LONGEST_WHY = 200
"""Characters of a row's explanation; the Markdown report has all of it."""


class TableFormat:
    """Renders for 80 to 160 columns; colours only where a person looks at a terminal."""

    def __init__(self, *, width: int | None = None, colour: bool | None = None) -> None:
        """Choose the form.

        Args:
            width: Columns; None for the terminal's, or the widest form where there is no terminal.
            colour: Whether to colour; None to ask standard output.
        """
        self._width = width
        self._colour = colour

    def render(self, summary: RunSummary, *, cases: bool) -> str:
        """Return the report, with a second table of all cases where ``cases`` is true."""
        colour = sys.stdout.isatty() if self._colour is None else self._colour
        width = self._width or shutil.get_terminal_size((_WIDEST, 0)).columns
        width = min(max(width, _NARROWEST), _WIDEST)
        text = io.StringIO()
        console = Console(
            file=text,
            width=width,
            force_terminal=colour,
            no_color=None if colour else True,
            markup=False,
            emoji=False,
            highlight=False,
            legacy_windows=False,
        )
        console.print(Text(printable(title(summary)), style="bold"))
        console.print(Text(printable(run_line(summary)), style="dim"))
        if interpreted(summary):
            console.print(Text(NO_SPEEDUPS, style="dim"))
        if summary.operators:
            console.print(_operators(summary, width))
        if cases and summary.cases:
            console.print(_cases(summary, width))
        console.print(_scores(summary))
        console.print(_counts("operators", summary.scores["verdicts"], _verdict_style))
        console.print(_counts("cases", summary.scores["statuses"], _status_style))
        for warning in summary.warnings:
            console.print(Text(f"warning: {one_line(warning)}", style="yellow"))
        bad = failures(summary)
        if bad:
            hint = "'kab report --format md' says what went wrong"
            console.print(Text(f"not fine: {len(bad)} of {len(summary.operators)} operators; {hint}"))
        return "".join(line.rstrip() + "\n" for line in text.getvalue().splitlines())


def _operators(summary: RunSummary, width: int) -> Table:
    timed, wide = not interpreted(summary), width >= _WIDE_FROM
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("operator", overflow="fold", min_width=20)
    table.add_column("verdict", no_wrap=True)
    table.add_column("passed", justify="right", no_wrap=True)
    table.add_column("worst error", overflow="fold", min_width=12)
    if timed:
        table.add_column("speedup", justify="right", no_wrap=True)
    if wide:
        table.add_column("BackendBench", no_wrap=True)
        table.add_column("device", no_wrap=not timed, overflow="fold")
    table.add_column("why", overflow="fold", min_width=15)
    for item in summary.operators:
        why = item.reason
        if item.detail and wide:
            why += f": {one_line(item.detail)}"
        elif item.verdict is OperatorVerdict.CORRECT and item.counts["not_judged"]:
            why = f"{item.counts['not_judged']} not judged"
        elif item.coverage:
            why = coverage_words(item.coverage)
        row = [
            Text(item.op_name),
            Text(item.verdict.value, style=_verdict_style(item.verdict.value)),
            Text(passed_of_judged(item)),
            Text(worst_error(item, relative=wide)),
        ]
        row += [Text(operator_speed(item) if wide else ratio(item.speedup))] if timed else []
        row += [Text(backendbench_says(item)), Text(item.device)] if wide else []
        table.add_row(*row, Text(_shortened(one_line(why))))
    return table


def _cases(summary: RunSummary, width: int) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    names = ["operator", "case", "status", "dtype", "worst error", "why"]
    timed = any(record.timing is not None for record in summary.cases)
    names += ["speed"] if timed else []
    if width >= _WIDE_FROM:
        names.insert(5, "device")
    for name in names:
        table.add_column(name, overflow="fold", no_wrap=name in {"case", "status"})
    for record in summary.cases:
        row = [
            Text(record.op_name),
            Text(record.case_id),
            Text(record.status.value, style=_status_style(record.status.value)),
            Text(record.dtype),
            Text(worst_error(record, relative=width >= _WIDE_FROM)),
        ]
        row += [Text(record.device)] if width >= _WIDE_FROM else []
        row.append(Text(one_line(record.reason)))
        table.add_row(*row, *([Text(one_line(case_speed(record)))] if timed else []))
    return table


def _scores(summary: RunSummary) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(no_wrap=True)
    for label, value in score_rows(summary):
        table.add_row(Text(label), Text(value, style="bold"))
    return table


def _counts(name: str, counts: Mapping[str, int], style_of: Callable[[str], str]) -> Text:
    parts = [Text(f"{count} {key}", style=style_of(key)) for key, count in counts.items() if count]
    return Text.assemble(f"{name}: ", Text(", ").join(parts or [Text("none")]))


def _verdict_style(verdict: str) -> str:
    if verdict == OperatorVerdict.CORRECT.value:
        return "green"
    return "dim" if OperatorVerdict(verdict) in FINE else "red"


def _status_style(status: str) -> str:
    return "green" if status == CaseStatus.PASSED.value else ""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_WHY else text[: _LONGEST_WHY - 3] + "..."
