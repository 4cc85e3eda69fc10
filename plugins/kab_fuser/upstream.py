"""Driving the public Fuser (meta-pytorch/KernelAgent), where it is installed.

It extracts, dispatches and composes by asking a model, and runs what the model writes uncontained and with the user's
key in its environment: that is its way, and the reason why it runs only when asked for. Its composition is judged by
the evaluator like any other kernel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.config.environment import process_environment
from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import GenerationResult

if TYPE_CHECKING:
    from kab_fuser.options import FuserOptions
    from kagent_bench.hooks.protocols import GenerationRequest

PACKAGE = "Fuser"
"""The public project's import package."""
COMPOSED = "composed_kernel.py"
STEPS = ("extract", "dispatch", "compose")
"""Steps of it that ask a model."""
CHECK_S = 120.0
"""Seconds for importing it, which imports torch."""


def check_installed(options: FuserOptions) -> None:
    """Refuse to go on where the public Fuser is not installed.

    Raises:
        UsageError: it is not.
    """
    done = subprocess.run(
        [sys.executable, "-c", f"import {PACKAGE}.pipeline"],
        env=_environment(options),
        capture_output=True,
        text=True,
        timeout=CHECK_S,
        check=False,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        message = f"the public Fuser (--agent upstream) cannot be imported: {why}"
        hint = "check out github.com/meta-pytorch/KernelAgent, install its dependencies, and name it: --upstream-path DIR"
        raise UsageError(message, hint=hint)


def _environment(options: FuserOptions, device: str = "cpu") -> dict[str, str]:
    found = dict(process_environment())
    if device == "cpu":  # its tests run kernels, too
        found["TRITON_INTERPRET"] = "1"
    if options.upstream_path:
        path = [str(Path(options.upstream_path).resolve()), *found.get("PYTHONPATH", "").split(os.pathsep)]
        found["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    if options.base_url:
        found["OPENAI_BASE_URL"] = options.base_url
    return found


def run_upstream(request: GenerationRequest, options: FuserOptions, base_dir: Path) -> GenerationResult:
    """Have the public pipeline solve a module's problem file.

    Args:
        request: the problem.
        options: which model it asks, and where.
        base_dir: the kernels folder; the pipeline's own files stay in the problem's folder there.
    """
    module = request.problem.module
    assert module is not None
    place = base_dir / request.problem.operator.folder / "fuser_upstream"
    place = place.resolve()
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
        for step in STEPS if options.model else ():
            command += [f"--{step}-model", options.model]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=request.deadline_s,
                check=False,
                cwd=place,
                env=_environment(options, request.device),
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
