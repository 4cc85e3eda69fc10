"""Runs a module of ours in a process of its own that writes one file: whole or not at all."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from kagent_bench.errors import HarnessFault
from kagent_bench.suites.cache import clean_environment

LIMIT_S = 900.0
"""Seconds after which the process is given up."""


def make_file(module: str, path: Path, what: str) -> None:
    """Have ``python -m MODULE FILE`` write a file beside its place, then rename it.

    Args:
        module: which is run.
        path: the file.
        what: what is done, in words, for messages: ``asking torch for its operators``.

    Raises:
        HarnessFault: the process failed, or took too long.
    """
    with tempfile.TemporaryDirectory(prefix=".making-", dir=path.parent) as scratch:
        target = Path(scratch) / path.name
        try:
            finished = subprocess.run(
                [sys.executable, "-s", "-m", "kagent_bench.throwaway", module, str(target)],
                cwd=scratch,
                env=clean_environment(Path(scratch)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            message = f"{what} took more than {LIMIT_S:.0f} s"
            raise HarnessFault(message, hint="try again on a machine that is less busy") from error
        if finished.returncode or not target.exists():
            last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
            message = f"{what} failed: {last}"
            raise HarnessFault(message, hint=f"run it by hand: python -m {module} FILE")
        target.replace(path)
