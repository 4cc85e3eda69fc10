"""Where runs live on disk: ``log_BackendBench/run_<YYYYMMDD_HHMMSS>_<suffix>/``, and how to find one again."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import InputError, KabError
from kagent_bench.stores.atomic import is_locked
from kagent_bench.stores.run_file import LOCK_NAME, RUN_NAME, RunState, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable

RUNS_ROOT = Path("log_BackendBench")
"""Default folder of all runs: BackendBench's name, so that both tools' logs lie together."""
_FOLDER = re.compile(r"run_(?P<time>\d{8}_\d{6})(?:_.*)?")
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def new_run_dir(root: Path, suffix: str, *, now: datetime | None = None) -> Path:
    """Make the folder of a new run, named by UTC time; a number is added where the name is taken.

    Args:
        root: Folder of all runs, made where it is missing.
        suffix: What the run is about, such as the suite's name; unsafe characters become ``-``.
        now: Time of the name; None for this moment.

    Raises:
        InputError: the folder cannot be made.
    """
    time = (now or datetime.now(timezone.utc)).strftime("%Y%m%d_%H%M%S")
    stem = f"run_{time}_{_UNSAFE.sub('-', suffix).strip('.-') or 'run'}"
    number = 1
    while True:
        path = root / (stem if number == 1 else f"{stem}_{number}")
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not path.exists():
                raise _cannot_make(path, "a part of the path is not a folder") from None
            number += 1
        except OSError as error:
            raise _cannot_make(path, error.strerror or str(error)) from error
        else:
            return path


def latest_run(root: Path) -> Path:
    """Return the newest run folder under ``root``.

    Raises:
        InputError: there is none.
    """
    for path in _newest_first(root):
        return path
    message = f"no run in {root}"
    raise InputError(message, hint="run 'kab evaluate' first, or name a run folder")


def resumable_run(root: Path, fingerprint: str) -> Path | None:
    """Return the newest unfinished run of the same work that no process is using, or None.

    Args:
        root: Folder of all runs; it need not exist.
        fingerprint: ``RunFile.fingerprint`` of the work to be done.
    """
    for path in _newest_first(root):
        try:
            run = read_run(path)
        except KabError:
            continue  # a run of another version or a broken one: nothing to go on with
        if (
            run.state is RunState.RUNNING
            and run.fingerprint == fingerprint
            and not is_locked(path / LOCK_NAME)
        ):
            return path
    return None


def _newest_first(root: Path) -> Iterable[Path]:
    if not root.is_dir():
        return []
    found = []
    for path in root.iterdir():
        match = _FOLDER.fullmatch(path.name)
        run_file = path / RUN_NAME
        if match and run_file.is_file():
            found.append((match["time"], run_file.stat().st_mtime_ns, path.name, path))
    return [path for *_, path in sorted(found, reverse=True)]


def _cannot_make(path: Path, why: str) -> InputError:
    return InputError(f"cannot make the run folder {path}: {why}", hint="choose another one with --run-dir")
