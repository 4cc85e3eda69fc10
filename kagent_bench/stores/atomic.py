"""Files that are whole or absent, and a lock between processes that never waits for ever."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kagent_bench.errors import UsageError

_POLL_S = 0.05
"""Seconds between two attempts at a lock: a person does not notice it, the machine neither."""
_FILE_MODE = 0o666
"""Mode of a new file before the umask; ``mkstemp`` makes private ones."""


def write_text(path: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file's content in one step: temporary file beside it, fsync, rename.

    Args:
        path: The file; its folder must exist.
        text: The whole new content, written as UTF-8 with its line ends untouched.
        mode: Permission bits; None for the user's default, as ``open`` gives.

    Raises:
        OSError: the folder is missing, not writable or full; the old content is untouched.
    """
    write_bytes(path, text.encode(), mode=mode)


def write_bytes(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file's content in one step, see ``write_text``.

    Raises:
        OSError: the folder is missing, not writable or full; the old content is untouched.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), _FILE_MODE & ~_umask() if mode is None else mode)
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def write_json(path: Path, value: object, *, indent: int | None = 2) -> None:
    """Replace a file by a JSON value in one step, see ``write_text``.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON lacks.
        OSError: as ``write_text``.
    """
    write_text(path, json.dumps(value, indent=indent, allow_nan=False) + "\n")


@contextlib.contextmanager
def file_lock(
    path: Path, *, timeout_s: float, purpose: str = "this file", shared: bool = False
) -> Iterator[None]:
    """Hold an exclusive lock between processes on ``path``, which is created and stays.

    The kernel drops the lock when its holder dies, so a lock file that was left behind locks nothing.

    Args:
        path: The lock file; its folder must exist.
        timeout_s: Seconds to wait for another holder; 0 to try once.
        purpose: What is locked, for the error message.
        shared: Whether other users of this machine take the same lock.

    Raises:
        UsageError: another process still holds the lock after ``timeout_s``.
        OSError: the lock file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _FILE_MODE)
    try:
        if shared and os.fstat(descriptor).st_uid == os.geteuid():
            os.fchmod(descriptor, _FILE_MODE)
        deadline = time.monotonic() + timeout_s
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                message = f"another process is using {purpose}: {path} is locked"
                if timeout_s > 0:
                    message += f" (waited {timeout_s:g} s)"
                raise UsageError(message, hint="wait for that process or stop it, then try again")
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether another process holds the lock ``path`` at this moment, or it is not ours to take.

    A missing file is not locked.
    """
    try:
        descriptor = os.open(
            path, os.O_RDWR | os.O_CLOEXEC
        )  # network file systems lock only what can be written
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _umask() -> int:
    """Return this process's umask from the kernel: ``os.umask`` would change it for a moment for all threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022


def _sync_folder(folder: Path) -> None:
    """Make a rename last; file systems that cannot sync a folder keep their own promise."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
