"""Every report format of stored sample runs, compared with the stored text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.report.render_csv import CsvFormat
from kagent_bench.report.render_json import JsonFormat
from kagent_bench.report.render_md import MarkdownFormat
from kagent_bench.report.render_table import TableFormat
from kagent_bench.report.summarise import summarise

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import ReportFormat

HERE = Path(__file__).parent
FORMATS: dict[str, tuple[ReportFormat, bool]] = {
    "report.md": (MarkdownFormat(), False),
    "cases.md": (MarkdownFormat(), True),
    "operators.csv": (CsvFormat(), False),
    "cases.csv": (CsvFormat(), True),
    "report.json": (JsonFormat(), False),
    "table-80.txt": (TableFormat(width=80, colour=False), False),
    "table-160.txt": (TableFormat(width=160, colour=False), True),
}


@pytest.mark.parametrize("sample", ["mixed", "good", "timed", "interrupted"])
@pytest.mark.parametrize("name", FORMATS)
def test_report_is_as_stored(sample: str, name: str, request: pytest.FixtureRequest) -> None:
    """A report changes only on purpose: ``pytest tests/golden --accept-golden``."""
    form, cases = FORMATS[name]
    summary = summarise(HERE / "samples" / sample)
    summary = replace(summary, run={**summary.run, "folder": f"log_BackendBench/{sample}"})
    text = form.render(summary, cases=cases)
    stored = HERE / "expected" / sample / name
    if request.config.getoption("--accept-golden", default=False):
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_text(text, encoding="utf-8")
    assert stored.read_text(encoding="utf-8") == text
