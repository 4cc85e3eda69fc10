"""Driving the public Fuser (meta-pytorch/KernelAgent), where it is installed."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import GenerationResult

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import GenerationRequest

PACKAGE = "Fuser"
"""The public project's import package."""
COMPOSED = "composed_kernel.py"


def check_installed() -> None:
    """Refuse to go on where the public Fuser is not installed.

    Raises:
        UsageError: it is not.
    """
    if importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec(f"{PACKAGE}.pipeline") is None:
        message = "--agent upstream needs the public Fuser (package 'Fuser'), which is not installed here"
        hint = "install a checkout of github.com/meta-pytorch/KernelAgent in this environment, or leave --agent out"
        raise UsageError(message, hint=hint)


def run_upstream(request: GenerationRequest, base_dir: Path) -> GenerationResult:
    """Have the public pipeline solve a module's problem file.

    Args:
        request: the problem.
        base_dir: the kernels folder; the pipeline's own files stay in the problem's folder there.
    """
    module = request.problem.module
    assert module is not None
    place = base_dir / request.problem.operator.folder / "fuser_upstream"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        problem = Path(scratch) / f"{module.name.stem}.py"
        problem.write_text(module.source)
        command = [
            sys.executable,
            "-m",
            f"{PACKAGE}.pipeline",
            "--problem",
            str(problem),
            "--out-root",
            str(place),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=request.deadline_s, check=False, cwd=place
            )
        except subprocess.TimeoutExpired:
            return GenerationResult(
                source=None, reason="time_limit", detail="the public Fuser did not end in time"
            )
    found = sorted(place.rglob(COMPOSED), key=lambda path: path.stat().st_mtime)
    if not found:
        last = (done.stderr.strip() or done.stdout.strip() or "it printed nothing").splitlines()[-1]
        detail = f"the public Fuser made no {COMPOSED} (exit code {done.returncode}): {last}"
        return GenerationResult(source=None, reason="nothing_composed", detail=detail)
    details = {"route": "upstream", "files": json.dumps(str(found[-1].parent))}
    return GenerationResult(source=found[-1].read_text(), details=details)
