"""The results of one run on disk: append-only, safe against crashes, used by one process at a time.

``results.jsonl`` gets one line per case the moment it is known. A line is one ``write`` to the kernel, so a
killed process loses at most the line that it was writing; it is not synced to the disk line by line, so a power
cut may cost the last seconds. A torn last line is ignored when reading and cut off before the next append.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from typing import TYPE_CHECKING

from kagent_bench.errors import HarnessFault, InputError
from kagent_bench.model.record import CaseRecord
from kagent_bench.stores.atomic import file_lock, write_bytes, write_text
from kagent_bench.stores.run_file import LOCK_NAME, RESULTS_NAME, RUN_NAME, SECRET_NAME, RunFile, read_run

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

SEED_BYTES = 32
"""Length of a run's secret: a key for HMAC-SHA256."""
_PRIVATE = 0o600
_LOCK_TIMEOUT_S = 1.0
"""Enough for a process that was just killed to be reaped; a live one is not waited for."""


def read_records(run_dir: Path) -> tuple[CaseRecord, ...]:
    """Read all records of a run, oldest first; takes no lock and writes nothing.

    Returns:
        The records; empty where nothing was judged yet. A torn last line is left out.

    Raises:
        InputError: a line is not a record; the message names file and line.
    """
    path = run_dir / RESULTS_NAME
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message, hint="check the file's permissions") from error
    lines = content.split(b"\n")[:-1]  # what follows the last line end is empty or torn
    try:
        return tuple(map(CaseRecord.from_json, json.loads(b"[" + b",".join(lines) + b"]")))
    except (TypeError, KeyError, ValueError):  # reading all at once is quick; line by line names the culprit
        return tuple(_parse(path, number, line) for number, line in enumerate(lines, start=1))


def read_seed(run_dir: Path) -> bytes:
    """Read the secret that a run's inputs come from; takes no lock and writes nothing.

    Raises:
        InputError: there is none, or it cannot be read.
    """
    path = run_dir / SECRET_NAME
    try:
        seed = path.read_bytes()
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message, hint="name the folder of a run with --run-dir") from error
    if len(seed) != SEED_BYTES:
        message = f"{path} does not hold {SEED_BYTES} bytes"
        raise InputError(message, hint="evaluate again into a new run folder")
    return seed


class ResultsStore:
    """The run folder of one evaluation, locked against other processes while it is open."""

    def __init__(self, run_dir: Path) -> None:
        """Describe a store that is not open; ``open`` is the way to make one."""
        self.run_dir = run_dir
        self.run: RunFile | None = None
        """The stored ``run.json``, or None in a new run."""
        self.seed = b""
        """The run's secret, from which inputs are derived; never shown to a candidate."""
        self.known: dict[str, CaseRecord] = {}
        """Records by key: what need not be judged again."""
        self._mutex = threading.Lock()
        self._exit = contextlib.ExitStack()
        self._descriptor = -1

    @classmethod
    def open(cls, run_dir: Path) -> ResultsStore:
        """Open a run folder for writing, made where it is missing; close it, or use it in ``with``.

        Raises:
            UsageError: another process is using the folder.
            InputError: the folder cannot be made or holds something unreadable.
        """
        store = cls(run_dir)
        try:
            store._open()
        except OSError as error:
            store.close()
            message = f"cannot use {run_dir} as a run folder: {error.strerror or error}"
            raise InputError(message, hint="choose another one with --run-dir") from error
        except BaseException:
            store.close()
            raise
        return store

    def append(self, record: CaseRecord) -> None:
        """Store a record for good. May be called from several threads.

        Raises:
            HarnessFault: the record cannot be written (disk full, store closed); no half line stays behind.
        """
        line = json.dumps(record.to_json(), separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._mutex:
            if self._descriptor < 0:
                message = f"the results store of {self.run_dir} is closed"
                raise HarnessFault(message, hint="this is a fault of kab: please report it")
            self._write(line)
            self.known[record.key] = record

    def write_run(self, run_file: RunFile) -> None:
        """Replace ``run.json`` in one step.

        Raises:
            HarnessFault: the file cannot be written; the former one is untouched.
        """
        try:
            write_text(self.run_dir / RUN_NAME, run_file.to_text())
        except OSError as error:
            message = f"cannot write {self.run_dir / RUN_NAME}: {error.strerror}"
            raise HarnessFault(message, hint="free some space and run the same command again") from error
        self.run = run_file

    def close(self) -> None:
        """Release the folder; safe to call twice."""
        with self._mutex:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        self._exit.close()

    def __enter__(self) -> Self:
        """Return this store, which is open already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Release the folder."""
        self.close()

    def _open(self) -> None:
        self.run_dir.mkdir(parents=True, exist_ok=True)
        lock = file_lock(
            self.run_dir / LOCK_NAME, timeout_s=_LOCK_TIMEOUT_S, purpose=f"the run folder {self.run_dir}"
        )
        self._exit.enter_context(lock)
        if (self.run_dir / RUN_NAME).exists():
            self.run = read_run(self.run_dir)
        self.known = {record.key: record for record in read_records(self.run_dir)}
        self.seed = self._load_seed()
        self._descriptor = os.open(
            self.run_dir / RESULTS_NAME, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
        )
        _cut_torn_line(self._descriptor)

    def _load_seed(self) -> bytes:
        path = self.run_dir / SECRET_NAME
        if path.exists():
            return read_seed(self.run_dir)
        if self.known:
            message = f"{path} is missing, so the inputs of this run's results cannot be made again"
            raise InputError(message, hint="evaluate again into a new run folder")
        seed = secrets.token_bytes(SEED_BYTES)
        write_bytes(path, seed, mode=_PRIVATE)
        return seed

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._descriptor).st_size
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
            message = f"cannot write {self.run_dir / RESULTS_NAME}: {error.strerror}"
            raise HarnessFault(message, hint="free some space and run the same command again") from error


def _parse(path: Path, number: int, line: bytes) -> CaseRecord:
    try:
        return CaseRecord.from_json(json.loads(line))
    except (TypeError, KeyError, ValueError) as error:
        message = f"{path}, line {number}, is not a result: {type(error).__name__}: {error}"
        raise InputError(message, hint="delete that line, or evaluate again into a new run folder") from error


def _cut_torn_line(descriptor: int) -> None:
    """Cut what a killed process left after the last line end."""
    size = os.fstat(descriptor).st_size
    block = 1 << 16
    end = size
    while end > 0:
        start = max(0, end - block)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
