"""What torch says of its own operators, told by a throwaway process and kept: this process needs no torch."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import HarnessFault
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.cache import cache_dir, clean_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
"""Version of the file's content, part of its name."""
DESCRIBE_LIMIT_S = 300.0
"""Seconds after which the process is given up; it takes three on an idle core."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of an operator."""

    name: str
    type: str
    """torch's word: ``Tensor``, ``List[int]``, ``Optional[float]``, ..."""
    kwarg_only: bool
    written: bool
    """Whether the schema says that the operator writes to it."""
    optional: bool
    """Whether it may be left out."""


@dataclass(frozen=True, slots=True)
class Schema:
    """One overload."""

    kind: str
    """How it can be judged, see ``model.selection.OperatorCases``."""
    arguments: tuple[Argument, ...]


@cache
def aten_schemas() -> Mapping[OperatorName, Schema]:
    """Return every overload of the installed torch; the first call for a version of torch takes seconds.

    Raises:
        HarnessFault: torch cannot be asked.
    """
    version = re.sub(r"[^A-Za-z0-9.+-]", "_", importlib.metadata.version("torch"))
    path = cache_dir() / f"aten-{version}-{FORMAT}.json"
    if not path.exists():
        _describe(path)
    data = json.loads(path.read_bytes())
    return {
        OperatorName(base, overload): Schema(kind, tuple(Argument(*argument) for argument in arguments))
        for base, overload, kind, arguments in data
    }


def _describe(path: Path) -> None:
    """Have the file written beside its place, then rename it: it is whole or absent."""
    with tempfile.TemporaryDirectory(prefix=".describing-", dir=path.parent) as scratch:
        target = Path(scratch) / path.name
        command = [sys.executable, "-s", "-m", "kagent_bench.suites.describe", str(target)]
        try:
            finished = subprocess.run(
                command,
                cwd=scratch,
                env=clean_environment(Path(scratch)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=DESCRIBE_LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            message = f"asking torch for its operators took more than {DESCRIBE_LIMIT_S:.0f} s"
            raise HarnessFault(message, hint="try again on a machine that is less busy") from error
        if finished.returncode or not target.exists():
            last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
            message = f"torch could not be asked for its operators: {last}"
            raise HarnessFault(message, hint="run it by hand: python -m kagent_bench.suites.describe FILE")
        target.replace(path)
