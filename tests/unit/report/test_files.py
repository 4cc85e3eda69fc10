"""The derived files: BackendBench's names and columns, made again at any time."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kagent_bench.errors import HarnessFault
from kagent_bench.report import files
from kagent_bench.report.files import write_derived
from kagent_bench.report.render_csv import BACKENDBENCH_COLUMNS
from kagent_bench.report.summarise import summarise

MIXED = Path(__file__).parents[2] / "golden" / "samples" / "mixed"


def test_the_names_are_backendbench_s(tmp_path: Path) -> None:
    """Four files, nothing else, equal when made twice."""
    summary = summarise(MIXED)
    first = {path.name: path.read_bytes() for path in write_derived(tmp_path, summary).paths}
    again = {path.name: path.read_bytes() for path in write_derived(tmp_path, summarise(MIXED)).paths}
    names = {"OVERALL_SUMMARY.md", "operator_summary.csv", "full_results.json", "failed_tests.json"}
    assert names == set(first) == {path.name for path in tmp_path.iterdir()}
    assert first == again


def test_the_csv_has_backendbench_s_columns(tmp_path: Path) -> None:
    """Its columns come first; the rows are the whole selection; nothing untimed has a speedup."""
    write_derived(tmp_path, summarise(MIXED))
    with (tmp_path / "operator_summary.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(BACKENDBENCH_COLUMNS) == list(rows[0])[: len(BACKENDBENCH_COLUMNS)]
    assert 9 == len(rows)
    assert {""} == {row["geomean_speedup"] for row in rows}


def test_the_json_files_are_valid_and_failures_are_failures(tmp_path: Path) -> None:
    """No NaN or infinity is in them; failed_tests holds exactly what was not fine."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    write_derived(tmp_path, summarise(MIXED))
    full = json.loads((tmp_path / "full_results.json").read_text(), parse_constant=refuse)
    failed = json.loads((tmp_path / "failed_tests.json").read_text(), parse_constant=refuse)
    assert {"failed", "crashed", "timeout", "rejected", "not_run"} == {row["status"] for row in failed}
    assert [row for row in full if row["status"] in {row["status"] for row in failed}] == failed
    assert "inf" in [row["max_abs_error"] for row in full]


def test_a_read_only_folder_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A report of somebody else's run needs no right to write there; what was refused is said."""

    def refuse(path: Path, _text: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "write_text", refuse)
    derived = write_derived(tmp_path, summarise(MIXED))
    assert () == derived.paths
    assert "Permission denied" in derived.refused


def test_a_full_disk_is_a_harness_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the file and the reason."""

    def refuse(path: Path, _text: str) -> None:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(files, "write_text", refuse)
    with pytest.raises(HarnessFault, match=r"OVERALL_SUMMARY.*No space left"):
        write_derived(tmp_path, summarise(MIXED))
