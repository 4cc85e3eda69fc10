"""Offers the report formats that come with this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import ReportFormatEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import ReportFormat


@hookimpl
def kab_report_formats() -> list[ReportFormatEntry]:
    """Return the formats ``table``, ``md``, ``csv`` and ``json``."""
    return [
        ReportFormatEntry("table", "short report for the terminal", _table),
        ReportFormatEntry("md", "full report in Markdown, with failures and commands", _markdown),
        ReportFormatEntry("csv", "one row per operator or, with --cases, per case", _csv),
        ReportFormatEntry("json", "everything, for scripts", _json),
    ]


def _table() -> ReportFormat:
    from kagent_bench.report.render_table import TableFormat

    return TableFormat()


def _markdown() -> ReportFormat:
    from kagent_bench.report.render_md import MarkdownFormat

    return MarkdownFormat()


def _csv() -> ReportFormat:
    from kagent_bench.report.render_csv import CsvFormat

    return CsvFormat()


def _json() -> ReportFormat:
    from kagent_bench.report.render_json import JsonFormat

    return JsonFormat()
