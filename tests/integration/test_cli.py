"""The real command in processes of its own: the main job on the smoke suite, and reports without torch."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import kagent_bench

KAB = Path(sysconfig.get_path("scripts")) / "kab"
SELECTION = ("--suite", "smoke", "--ops", "relu,add.Tensor", "--dtype", "fp32")
LIMITS = ("--rounds", "1", "--cases-per-operator", "4", "--device", "cpu")
HELP_LIMIT_S = 0.4
"""Processor time of ``kab --help``: twice what it takes on an idle machine, since others may share the core."""


def kab(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [str(KAB), *arguments], check=False, capture_output=True, text=True, cwd=folder, env=environment
    )


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run the main job once; returns its folder and its JSON."""
    folder = tmp_path_factory.mktemp("workplace")
    done = kab(folder, "run", "--workflow", "baseline", *SELECTION, *LIMITS, "--json")
    assert 0 == done.returncode, done.stderr
    return folder, json.loads(done.stdout)


def test_the_main_job(workplace: tuple[Path, dict[str, Any]]) -> None:
    """Set up, generated, judged, reported: every selected operator is correct."""
    folder, result = workplace

    assert {"add.Tensor": "correct", "relu.default": "correct"} == {
        item["op_name"]: item["verdict"] for item in result["operators"]
    }
    assert {"generated": 2} == result["generate"]["counts"]
    assert (folder / "generated_kernels" / "add__Tensor" / "add__Tensor_implementation.py").is_file()
    assert {"generated_kernels", "log_BackendBench"} == {entry.name for entry in folder.iterdir()}


@pytest.fixture
def without_torch(tmp_path: Path) -> str:
    """Return a search path on which torch, triton and numpy cannot be imported."""
    site = tmp_path / "site"
    site.mkdir()
    for name in ("torch", "triton", "numpy"):
        (site / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
    return str(site)


@pytest.mark.parametrize("name", ["table", "md", "csv", "json"])
def test_reports_need_no_torch(workplace: tuple[Path, dict[str, Any]], without_torch: str, name: str) -> None:
    """Every format of the latest run, with the exit code of its verdicts."""
    done = kab(workplace[0], "report", "--format", name, "--cases", PYTHONPATH=without_torch)

    assert (0, "") == (done.returncode, done.stderr)
    assert "relu" in done.stdout


def test_the_report_is_what_the_run_printed(workplace: tuple[Path, dict[str, Any]]) -> None:
    """On standard output, in a file, and from Python: the same objects."""
    folder, result = workplace
    (run_dir,) = (folder / "log_BackendBench").iterdir()
    expected = {key: value for key, value in result.items() if key not in {"setup", "generate"}}

    printed = kab(folder, "report", "--json")
    to_file = kab(
        folder, "report", str(run_dir.relative_to(folder)), "--format", "json", "--output", "report.json"
    )

    assert expected == json.loads(printed.stdout)
    assert "" == to_file.stdout
    assert expected == json.loads((folder / "report.json").read_text())
    (folder / "report.json").unlink()
    assert {**expected, "run": {}} == {**kagent_bench.report(run_dir).to_json(), "run": {}}


def test_a_report_into_a_missing_folder_is_wrong_use(workplace: tuple[Path, dict[str, Any]]) -> None:
    """Two lines, exit code 2, no folder made."""
    done = kab(workplace[0], "report", "--output", "nowhere/report.md", "--format", "md")

    assert (2, 2) == (done.returncode, len(done.stderr.splitlines()))
    assert not (workplace[0] / "nowhere").exists()


def test_each_kernel_has_its_own_fate(workplace: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """A wrong kernel is incorrect, a deleted one is missing, and both are in the denominator: exit code 1."""
    kernels = tmp_path / "kernels"
    shutil.copytree(workplace[0] / "generated_kernels", kernels)
    shutil.rmtree(kernels / "relu__default")
    (kernels / "add__Tensor" / "add__Tensor_implementation.py").write_text(
        "import torch\n\n\ndef add__Tensor_kernel_impl(self, other, *, alpha=1):\n    return torch.empty_like(self)\n"
    )

    done = kab(tmp_path, "evaluate", "--kernels-dir", "kernels", *SELECTION, *LIMITS, "--json")

    assert 1 == done.returncode, done.stderr
    verdicts = {item["op_name"]: item["verdict"] for item in json.loads(done.stdout)["operators"]}
    assert "missing" == verdicts["relu.default"]
    assert verdicts["add.Tensor"] in {"incorrect", "rejected"}


def test_python_gives_what_the_command_prints(
    workplace: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same work from Python has the same result, times and paths apart."""
    monkeypatch.chdir(tmp_path)

    summary = kagent_bench.evaluate(
        base_dir=workplace[0] / "generated_kernels",
        suite="smoke",
        ops=["relu", "add.Tensor"],
        dtype=["fp32"],
        rounds=1,
        cases_per_operator=4,
        device="cpu",
    )

    shared = ("op_name", "verdict", "reason", "counts", "kernel_sha256")
    assert [{key: item[key] for key in shared} for item in workplace[1]["operators"]] == [
        {key: item[key] for key in shared} for item in summary.to_json()["operators"]
    ]


def test_help_is_fast(tmp_path: Path) -> None:
    """Median processor time of several runs."""
    times = []
    for _ in range(7):
        process = subprocess.Popen([str(KAB), "--help"], stdout=subprocess.DEVNULL, cwd=tmp_path)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        times.append(usage.ru_utime + usage.ru_stime)

    assert statistics.median(times) < HELP_LIMIT_S


def test_a_reader_that_has_gone(workplace: tuple[Path, dict[str, Any]]) -> None:
    """`kab report | true` says nothing on standard error."""
    line = f"'{KAB}' report --format json --cases | true"

    done = subprocess.run(line, shell=True, check=True, capture_output=True, text=True, cwd=workplace[0])  # noqa: S602

    assert "" == done.stderr
