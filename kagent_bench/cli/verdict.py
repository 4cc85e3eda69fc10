"""How ``evaluate`` and ``run`` end: the report on standard output, the exit code by the verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import typer

from kagent_bench.cli.console import emit, emit_json
from kagent_bench.errors import ExitCode
from kagent_bench.pipeline import all_fine

if TYPE_CHECKING:
    from kagent_bench.cli.invocation import Invocation
    from kagent_bench.model.summary import RunSummary

HARNESS_FAULT = "harness_fault"
"""Reason of a case over which the oracle's own code failed."""
DEFAULT_FORMAT = "table"
"""Report format for the terminal."""


def show_and_exit(
    summary: RunSummary, call: Invocation, *, as_json: bool, value: dict[str, Any] | None = None
) -> NoReturn:
    """Print the report.

    Args:
        summary: what was judged.
        call: the command.
        as_json: print JSON instead of the table.
        value: the JSON, where it holds more than the summary.

    Raises:
        typer.Exit: always, with the code that the verdicts ask for.
    """
    if as_json:
        emit_json(summary.to_json() if value is None else value)
    else:
        report_format = call.catalog.report_formats.load(DEFAULT_FORMAT, asked_by="kab")
        emit(report_format.render(summary, cases=False))
    raise typer.Exit(exit_code(summary))


def exit_code(summary: RunSummary) -> ExitCode:
    """Return 0 only if every selected operator is fine; a fault of the harness is never a kernel's failure."""
    if any(record.reason == HARNESS_FAULT for record in summary.cases):
        return ExitCode.HARNESS_FAULT
    return ExitCode.OK if all_fine(summary) else ExitCode.FAILURES
