"""What every format keeps to, whatever the run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.report.plugin import kab_report_formats
from kagent_bench.report.render_md import MarkdownFormat
from kagent_bench.report.render_table import TableFormat
from kagent_bench.report.reproduce import case_command, run_command
from kagent_bench.report.summarise import summarise

if TYPE_CHECKING:
    from kagent_bench.model.summary import RunSummary

SAMPLES = Path(__file__).parents[2] / "golden" / "samples"
NAMES = ["mixed", "good", "interrupted"]


@pytest.fixture(params=NAMES)
def summary(request: pytest.FixtureRequest) -> RunSummary:
    """Return the summary of each sample run in turn."""
    return summarise(SAMPLES / request.param)


@pytest.mark.parametrize("entry", kab_report_formats(), ids=lambda entry: entry.name)
@pytest.mark.parametrize("cases", [False, True])
def test_two_reports_of_one_run_are_equal(summary: RunSummary, entry: object, cases: bool) -> None:  # noqa: FBT001 - a parameter
    """Rendering has no memory, gives no NaN, and ends with a line end."""
    load = entry.load  # type: ignore[attr-defined]
    text = load().render(summary, cases=cases)
    assert text == load().render(summary, cases=cases)
    assert text.endswith("\n")
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [80, 100, 110, 130, 160])
def test_the_table_fits_and_loses_no_word(summary: RunSummary, width: int) -> None:
    """No line is wider than asked for, and every operator, verdict and reason is there."""
    text = TableFormat(width=width, colour=False).render(summary, cases=True)
    assert all(len(line) <= width for line in text.splitlines())
    for item in summary.operators:
        assert item.op_name in text
        assert f" {item.verdict.value} " in text
        assert item.reason in text


def test_colour_is_only_for_a_terminal() -> None:
    """The same text, with colour codes only when asked for."""
    plain = TableFormat(width=80, colour=False).render(summarise(SAMPLES / "mixed"), cases=False)
    coloured = TableFormat(width=80, colour=True).render(summarise(SAMPLES / "mixed"), cases=False)
    assert "\x1b[" not in plain
    assert "\x1b[" in coloured


def test_interpreted_runs_say_so_everywhere_and_have_no_speedups() -> None:
    """The device is in the title and in every row; there is no speedup column."""
    summary = summarise(SAMPLES / "mixed")
    text = MarkdownFormat().render(summary, cases=False)
    rows = [line for line in text.splitlines() if line.startswith("| `") and "default" in line]
    assert text.startswith("# kagent-bench: suite opinfo on cpu (Triton interpreter)\n")
    assert rows
    assert all("cpu (Triton interpreter)" in row for row in rows)
    assert "| speedup" not in text
    assert {"cpu (Triton interpreter)"} == {item.device for item in summary.operators}


def test_one_operator_all_right_is_a_hundred_per_cent() -> None:
    """Not 1.0000%, and not 1."""
    text = MarkdownFormat().render(summarise(SAMPLES / "good"), cases=False)
    assert "| correct, of all selected operators | 1/1 (100%) |" in text


def test_json_is_valid_and_has_the_documented_keys(summary: RunSummary) -> None:
    """A strict reader takes it; the cases are there only on request."""
    (entry,) = (item for item in kab_report_formats() if item.name == "json")
    data = json.loads(entry.load().render(summary, cases=False), parse_constant=pytest.fail)
    assert {"schema_version", "run", "scores", "operators", "warnings"} == set(data)
    assert "cases" in json.loads(entry.load().render(summary, cases=True))
    assert all(not item["op_name"].startswith("aten") for item in data["operators"])


def test_commands_can_be_pasted() -> None:
    """The run's own command is quoted; a case's command has every chosen setting and no contradiction."""
    run = summarise(SAMPLES / "mixed").run
    assert run["command"] == shlex.split(run_command(run))
    words = shlex.split(case_command(run, "abc"))
    assert ["kab", "evaluate", "--case", "abc"] == words[:4]
    assert ["--suite", "opinfo"] == words[words.index("--suite") :][:2]
    assert ["--tolerance", "float32=1e-05"] == words[words.index("--tolerance") :][:2]
    assert ["--run-dir", str(SAMPLES / "mixed")] == words[words.index("--run-dir") :][:2]
    assert "--ops" not in words


def test_a_run_of_the_python_api_has_a_command_too() -> None:
    """Without a command line the settings give one."""
    run = summarise(SAMPLES / "interrupted").run
    assert ["kab", "evaluate", "--base-dir", "generated_kernels"] == shlex.split(run_command(run))[:4]
