"""The installed command beside a stranger's suite of small cases, and folders of kernels for it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, probe
from kagent_bench.model.names import OperatorName
from tests.integration.contained import Server

KAB = Path(sysconfig.get_path("scripts")) / "kab"
SUITE = Path(__file__).with_name("cases_suite.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """The command ``kab`` as a user has it, with the suite ``cases`` installed."""

    site: Path

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment of a user who exported nothing but the given variables."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("KAB_", "TRITON_"))}
        return {**kept, "PYTHONPATH": str(self.site), **variables}

    def start(self, folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Start the command in a folder, as from a terminal: a shell's background jobs ignore Control-C."""
        return subprocess.Popen(
            [str(KAB), *arguments],
            cwd=folder,
            env=self.environment(**variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509 - nothing else runs in the tests' process
        )

    def __call__(self, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command in a folder."""
        process = self.start(folder, *arguments, **variables)
        stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def json(self, folder: Path, *arguments: str, **variables: str) -> dict[str, Any]:
        """Run the command with ``--json``; returns what it printed, however the verdicts are."""
        done = self(folder, *arguments, "--json", **variables)
        assert done.returncode in {0, 1}, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout)
        return printed


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(scope="session")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """Install the suite as a distribution of somebody else and return the command."""
    site = tmp_path_factory.mktemp("site")
    (site / "kab_cases.py").write_text(SUITE.read_text())
    info = site / "kab_cases-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kab-cases\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kagent_bench]\ncases = kab_cases\n")
    return Command(site=site)


def write_kernels(folder: Path, sources: dict[str, str]) -> None:
    """Write kernels into a folder in BackendBench's layout, by operator."""
    for name, source in sources.items():
        operator = OperatorName.parse(name)
        place = folder / operator.folder
        place.mkdir(parents=True, exist_ok=True)
        text = source.replace("KERNEL", operator.kernel_function)
        (place / f"{operator.kernel_stem}.py").write_text(text)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    """Return a server with a scratch folder and a secret beside it."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "kernel.py").write_text("answer = 42\n")
    (tmp_path / "secret").write_text("the seed")
    return Server(folder=tmp_path)


@pytest.fixture(scope="module")
def machine() -> ContainmentReport:
    """Return what this machine allows."""
    return probe()
