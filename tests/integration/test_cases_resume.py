"""A run that is killed half way goes on where it was, and ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.stores.results import read_records
from kagent_bench.stores.run_file import SECRET_NAME
from tests.integration.conftest import write_kernels
from tests.integration.kernels import HEADER, host, unary

if TYPE_CHECKING:
    import subprocess

    from tests.integration.conftest import Command

ARGUMENTS = (
    "evaluate", "--suite", "cases", "--kernels-dir", "kernels", "--ops", "abs,ceil,cos,neg,square", "--num-workers", "1",
    "--device", "cpu", "--json",
)  # fmt: skip
KERNELS = {
    "abs": unary("tl.abs(x0)"),
    "ceil": unary("tl.ceil(x0)"),
    "cos": HEADER + "def KERNEL(self):\n    return torch.zeros_like(self)\n",
    "neg": unary("-x0", before="time.sleep(0.4)"),
    "square": unary("x0 * x0"),
}
EXPECTED = {
    "abs.default": "correct",
    "ceil.default": "correct",
    "cos.default": "incorrect",
    "neg.default": "correct",
    "square.default": "correct",
}
PATIENCE_S = 60.0
TIMES = ("first_call_s", "duration_s")


def _verdicts(printed: dict[str, Any]) -> dict[str, str]:
    return {item["op_name"]: item["verdict"] for item in printed["operators"]}


def _run_dirs(folder: Path) -> list[Path]:
    return sorted((folder / "log_BackendBench").glob("run_*"))


def _processes_of(folder: Path) -> list[str]:
    """Return the process ids whose environment names the folder for temporary files, as that of every helper does."""
    wanted = f"TMPDIR={folder / 'tmp'}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if wanted in environ.read_bytes().split(b"\0"):
                found.append(environ.parent.name)
    return found


def _wait_for_lines(folder: Path, n_lines: int, process: subprocess.Popen[str]) -> list[str]:
    """Wait until so many results are stored; returns them."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        for run_dir in _run_dirs(folder):
            results = run_dir / "results.jsonl"
            lines = results.read_text().splitlines() if results.exists() else []
            if len(lines) >= n_lines:
                return lines
        time.sleep(0.02)
    raise AssertionError(process.communicate())


def _without_times(run_dir: Path) -> list[dict[str, Any]]:
    records = [record.to_json() for record in read_records(run_dir)]
    return [{key: value for key, value in record.items() if key not in TIMES} for record in records]


@pytest.fixture(scope="module")
def folder(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kill a run after two of five operators; returns its folder, with the results so far in ``before``."""
    folder = tmp_path_factory.mktemp("resume")
    write_kernels(folder / "kernels", KERNELS)
    (folder / "tmp").mkdir()
    with command.start(folder, *ARGUMENTS, TMPDIR=str(folder / "tmp")) as process:
        before = _wait_for_lines(folder, 2, process)
        assert list((folder / "tmp").iterdir())
        process.send_signal(signal.SIGKILL)
        process.communicate()
    (folder / "before").write_text("\n".join(before))
    return folder


def test_a_killed_run_leaves_no_file_and_no_process(folder: Path) -> None:
    """Nothing of it outlives it but its run folder: neither what candidates worked on, nor what it started."""
    deadline = time.monotonic() + PATIENCE_S
    while (_processes_of(folder) or any((folder / "tmp").iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [] == [path.name for path in (folder / "tmp").iterdir()]
    assert [] == _processes_of(folder)
    assert {"before", "kernels", "log_BackendBench", "tmp"} == {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def resumed(command: Command, folder: Path) -> dict[str, Any]:
    """Give the same command again; returns what it printed."""
    with (folder / "log_BackendBench" / _run_dirs(folder)[0].name / "results.jsonl").open("a") as results:
        results.write('{"key": "torn')
    return command.json(folder, *ARGUMENTS[:-1])


def test_a_killed_run_can_be_reported(command: Command, folder: Path) -> None:
    """What was judged counts, the rest is said to be missing from the run; nothing is half written."""
    done = command(folder, "report", "--format", "json", "--cases")
    printed = json.loads(done.stdout)
    assert 1 == done.returncode
    assert ["correct", "correct"] == list(_verdicts(printed).values())[:2]
    assert any("unfinished" in text for text in printed["warnings"])


def test_the_same_command_ends_as_an_uninterrupted_run(
    command: Command, folder: Path, resumed: dict[str, Any], tmp_path: Path
) -> None:
    """Every record is the same, errors to the last digit, given the same secret; times apart."""
    assert EXPECTED == _verdicts(resumed)
    (run_dir,) = _run_dirs(folder)
    shutil.copytree(folder / "kernels", tmp_path / "kernels")
    (tmp_path / "whole").mkdir(mode=0o700)
    shutil.copy(run_dir / SECRET_NAME, tmp_path / "whole" / SECRET_NAME)
    whole = command.json(tmp_path, *ARGUMENTS[:-1], "--run-dir", "whole")
    assert _without_times(tmp_path / "whole") == _without_times(run_dir)
    assert resumed["scores"] == whole["scores"]
    same = (
        "op_name",
        "verdict",
        "reason",
        "detail",
        "counts",
        "max_abs_error",
        "kernel_sha256",
        "backendbench",
    )
    assert [[item[key] for key in same] for item in resumed["operators"]] == [
        [item[key] for key in same] for item in whole["operators"]
    ]


def test_nothing_is_judged_twice(folder: Path, resumed: dict[str, Any]) -> None:
    """What was stored stays as it was, to the byte; each case has one record; the torn line is gone."""
    assert resumed["operators"]
    (run_dir,) = _run_dirs(folder)
    before, after = (
        (folder / "before").read_text().splitlines(),
        (run_dir / "results.jsonl").read_text().splitlines(),
    )
    assert before == after[: len(before)]
    assert len(EXPECTED) == len(after) == len({json.loads(line)["key"] for line in after})


def test_a_changed_kernel_alone_is_judged_again(
    command: Command, folder: Path, resumed: dict[str, Any]
) -> None:
    """In the same run folder the others keep their records, and one that is deleted becomes missing."""
    assert resumed["operators"]
    (run_dir,) = _run_dirs(folder)
    before = (run_dir / "results.jsonl").read_text()
    write_kernels(folder / "kernels", {"abs": host("import sys; sys.exit(5)")})
    shutil.rmtree(folder / "kernels" / "ceil__default")
    printed = command.json(folder, *ARGUMENTS[:-1], "--run-dir", str(run_dir))
    assert EXPECTED | {"abs.default": "crashed", "ceil.default": "missing"} == _verdicts(printed)
    after = (run_dir / "results.jsonl").read_text()
    assert after.startswith(before)
    assert 1 == len(after.removeprefix(before).splitlines())


def test_an_interrupted_run_says_how_to_go_on(command: Command, tmp_path: Path) -> None:
    """Control-C in the middle of several workers' calls ends in words, with everything stopped and results kept."""
    write_kernels(tmp_path / "kernels", KERNELS | {"square": unary("x0 * x0", before="time.sleep(0.4)")})
    (tmp_path / "tmp").mkdir()
    workers = [*ARGUMENTS[: ARGUMENTS.index("1")], "2", *ARGUMENTS[ARGUMENTS.index("1") + 1 :]]
    with command.start(tmp_path, *workers, TMPDIR=str(tmp_path / "tmp")) as process:
        _wait_for_lines(tmp_path, 1, process)
        process.send_signal(signal.SIGINT)
        printed, said = process.communicate(timeout=PATIENCE_S)
    assert 130 == process.returncode, (printed, said)
    assert ("", 1) == (printed, len(said.splitlines())), said
    assert "run the same command again" in said
    assert [] == _processes_of(tmp_path)
    assert EXPECTED == _verdicts(command.json(tmp_path, *workers[:-1]))
