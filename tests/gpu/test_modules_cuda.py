"""Modules on a GPU: recorded on the CPU, judged and timed on the device."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_modules import EAGER, FUNCTION, GOOD, RIGHT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]
_PROBE = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
_KAB = "import sys; from kagent_bench.cli.app import main; sys.argv[0] = 'kab'; main()"


def test_a_module_is_judged_and_timed(tmp_path: Path) -> None:
    """PyTorch looks at the device while it exports, which must not spoil the forks that record."""
    if subprocess.run([sys.executable, "-c", _PROBE], check=False).returncode:
        pytest.skip("no CUDA device")
    problem = tmp_path / "function.py"
    problem.write_text(GOOD)
    place = tmp_path / "kernels" / "function__module"
    place.mkdir(parents=True)
    (place / "function__module_implementation.py").write_text(RIGHT + FUNCTION + EAGER)
    command = [
        "evaluate",
        "--suite",
        "kernelbench",
        "--suite-file",
        str(problem),
        "--device",
        "cuda",
        "--json",
    ]
    finished = subprocess.run(
        [sys.executable, "-c", _KAB, *command, "--base-dir", str(tmp_path / "kernels")],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    (found,) = json.loads(finished.stdout)["operators"]
    assert ("correct", 0) == (found["verdict"], finished.returncode), finished.stderr
    assert found["speedup"] or found["speedup_of_all_timed"]
