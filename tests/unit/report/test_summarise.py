"""From stored records to verdicts, counts and scores."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import InputError
from kagent_bench.model.record import CaseRecord
from kagent_bench.model.verdict import CaseStatus, OperatorVerdict
from kagent_bench.report.render_json import JsonFormat
from kagent_bench.report.summarise import summarise
from kagent_bench.stores.atomic import write_text
from kagent_bench.stores.run_file import KernelFile, RunFile, RunState, SelectedCase, SelectedOperator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kagent_bench.model.summary import RunSummary

OP = "relu.default"


def stored(
    folder: Path,
    statuses: Mapping[str, Sequence[tuple[CaseStatus, str]]],
    *,
    n_cases: int | None = None,
    kernels: Sequence[str] = (OP,),
    state: RunState = RunState.FINISHED,
    skipped: Mapping[str, int] | None = None,
) -> Path:
    """Store a run with the given case outcomes by operator; ``n_cases`` selects more than have a record."""
    selection = tuple(
        SelectedOperator(
            op_name=name,
            kind="value",
            cases=tuple(
                SelectedCase(
                    id=f"c{number}", dtype="float32", origin="direct", held_out=False, key=f"{name}/{number}"
                )
                for number in range(len(outcomes) if n_cases is None else n_cases)
            ),
            skipped=skipped or {},
        )
        for name, outcomes in statuses.items()
    )
    run = RunFile(
        kab_version="0.1.0",
        created="2026-01-01T00:00:00+00:00",
        finished=None,
        state=state,
        command=(),
        fingerprint="f",
        suite_name="smoke",
        suite_sha256="s",
        settings={},
        device={"kind": "cpu", "name": "cpu", "interpreter": True},
        selection=selection,
        kernels={name: KernelFile(path=f"{name}.py", sha256="ab") for name in kernels},
    )
    write_text(folder / "run.json", run.to_text())
    with (folder / "results.jsonl").open("w") as file:
        for name, outcomes in statuses.items():
            for number, (status, reason) in enumerate(outcomes):
                file.write(json.dumps(record(name, number, status, reason).to_json()) + "\n")
    return folder


def record(name: str, number: int, status: CaseStatus, reason: str = "") -> CaseRecord:
    """Return a record of a numbered case."""
    return CaseRecord(
        key=f"{name}/{number}",
        op_name=name,
        case_id=f"c{number}",
        kernel_sha256="ab",
        status=status,
        reason=reason,
        detail=f"detail {number}",
        dtype="float32",
        origin="direct",
        held_out=False,
        call="()",
        device="cpu (Triton interpreter)",
    )


def only(summary: RunSummary) -> tuple[OperatorVerdict, str, str]:
    """Return verdict, reason and detail of a summary's only operator."""
    (item,) = summary.operators
    return item.verdict, item.reason, item.detail


PASSED = (CaseStatus.PASSED, "")


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (PASSED, OperatorVerdict.CORRECT),
        ((CaseStatus.FAILED, "values"), OperatorVerdict.INCORRECT),
        ((CaseStatus.REJECTED, "library_compute"), OperatorVerdict.REJECTED),
        ((CaseStatus.CRASHED, "signal"), OperatorVerdict.CRASHED),
        ((CaseStatus.TIMEOUT, "case"), OperatorVerdict.TIMEOUT),
        ((CaseStatus.NOT_RUN, "after_crash"), OperatorVerdict.INCORRECT),
        ((CaseStatus.NOT_JUDGED, "interpreter"), OperatorVerdict.CORRECT),
        ((CaseStatus.SKIPPED, "too_large"), OperatorVerdict.CORRECT),
    ],
)
def test_the_worst_case_decides(
    tmp_path: Path, second: tuple[CaseStatus, str], expected: OperatorVerdict
) -> None:
    """One bad case makes the operator bad, with that case's reason and detail."""
    verdict, reason, detail = only(summarise(stored(tmp_path, {OP: [PASSED, second]})))
    assert expected is verdict
    if expected is not OperatorVerdict.CORRECT:
        assert (second[1], "detail 1") == (reason, detail)


@pytest.mark.parametrize("state", list(RunState))
def test_a_case_without_a_record_is_not_run(tmp_path: Path, state: RunState) -> None:
    """An operator whose cases were not all judged is not correct, whatever the run says of itself."""
    summary = summarise(stored(tmp_path, {OP: [PASSED]}, n_cases=3, state=state))
    verdict, reason, _ = only(summary)
    assert (OperatorVerdict.NOT_JUDGED, "interrupted") == (verdict, reason)
    assert not summary.operators[0].fine
    assert 2 == summary.scores["statuses"]["not_run"]
    assert ("unfinished: 2 of 3 selected cases have no result",) == summary.warnings


def test_a_missing_kernel_is_in_the_denominator(tmp_path: Path) -> None:
    """One correct and one missing operator make a half."""
    folder = stored(tmp_path, {OP: [PASSED], "tanh.default": []}, n_cases=1)
    summary = summarise(folder)
    assert [OperatorVerdict.CORRECT, OperatorVerdict.MISSING] == [item.verdict for item in summary.operators]
    assert 0.5 == summary.scores["ours"]["correct_of_selected"]
    assert summary.operators[1].kernel_sha256 is None


def test_a_fully_filtered_operator_is_skipped_with_the_filter_s_reason(tmp_path: Path) -> None:
    """An operator that the filters left no case of is lawfully skipped, and its cases are counted."""
    summary = summarise(stored(tmp_path, {OP: []}, skipped={"dtype is int64": 4}))
    assert (OperatorVerdict.SKIPPED, "filtered", "dtype is int64") == only(summary)
    assert 4 == summary.scores["statuses"]["skipped"]


def test_old_records_are_ignored(tmp_path: Path) -> None:
    """A record of a former kernel, whose key nobody asks for, changes nothing."""
    stored(tmp_path, {OP: [PASSED]})
    before = JsonFormat().render(summarise(tmp_path), cases=True)
    with (tmp_path / "results.jsonl").open("a") as file:
        file.write(json.dumps(record(OP, 99, CaseStatus.FAILED, "values").to_json()) + "\n")
    assert before == JsonFormat().render(summarise(tmp_path), cases=True)


def test_the_order_of_records_has_no_meaning(tmp_path: Path) -> None:
    """A resumed run, whose records came in another order, gives the same report."""
    stored(tmp_path, {OP: [PASSED, (CaseStatus.FAILED, "a"), (CaseStatus.FAILED, "b")]})
    before = JsonFormat().render(summarise(tmp_path), cases=True)
    path = tmp_path / "results.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    assert before == JsonFormat().render(summarise(tmp_path), cases=True)


def test_counts_add_up(tmp_path: Path) -> None:
    """The statuses of an operator sum up to its total, filtered cases included."""
    outcomes = [PASSED, (CaseStatus.FAILED, "x"), (CaseStatus.SKIPPED, "too_large")]
    (item,) = summarise(stored(tmp_path, {OP: outcomes}, n_cases=5, skipped={"f": 2})).operators
    assert item.counts["total"] == sum(item.counts[status.value] for status in CaseStatus)
    assert 7 == item.counts["total"]


def test_no_results_is_said(tmp_path: Path) -> None:
    """A run in which nothing was judged says so and has no score above nothing."""
    summary = summarise(stored(tmp_path, {OP: []}, n_cases=1))
    assert any(text.startswith("no results") for text in summary.warnings)
    assert 0.0 == summary.scores["ours"]["correct_of_selected"]


def test_an_empty_selection_is_said(tmp_path: Path) -> None:
    """A run about nothing has no score and no traceback."""
    summary = summarise(stored(tmp_path, {}))
    assert summary.scores["ours"]["correct_of_selected"] is None
    assert any("selection is empty" in text for text in summary.warnings)


def test_a_folder_that_is_no_run_is_an_input_error(tmp_path: Path) -> None:
    """The message names the folder."""
    with pytest.raises(InputError, match="is not a run folder"):
        summarise(tmp_path)
    with pytest.raises(InputError, match="no run folder"):
        summarise(tmp_path / "missing")


def test_a_report_needs_neither_torch_nor_triton(tmp_path: Path) -> None:
    """Every format is made with torch, triton and numpy not importable."""
    stored(tmp_path, {OP: [PASSED]})
    code = """
import sys
from pathlib import Path
for name in ("torch", "triton", "numpy"):
    sys.modules[name] = None
from kagent_bench.report.plugin import kab_report_formats
from kagent_bench.report.summarise import summarise
summary = summarise(Path(sys.argv[1]))
for entry in kab_report_formats():
    assert entry.load().render(summary, cases=True)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, timeout=60)


@pytest.mark.slow
def test_many_records_take_seconds(tmp_path: Path) -> None:
    """Summarising stays linear: 20,000 records take far less than a wait."""
    import time

    names = [f"op{number}.default" for number in range(200)]
    stored(tmp_path, {name: [PASSED] * 100 for name in names}, kernels=names)
    started = time.process_time()
    summary = summarise(tmp_path)
    assert time.process_time() - started < 8.0
    assert 200 == summary.scores["ours"]["correct"]
