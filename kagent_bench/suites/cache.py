"""Where recorded shards are kept, and how a missing one is recorded once by a throwaway process."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.config.environment import cache_root, process_environment
from kagent_bench.errors import HarnessFault
from kagent_bench.suites.shard import FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PRIVATE = 0o700
"""Mode of the cache folder: what the held-out cases are is nobody else's business."""

RECORDER = "kagent_bench.suites.record"
"""Module that records a shard."""

RECORD_LIMIT_S = 900.0
"""Seconds after which a recording is given up; it takes about 20 on an idle core."""

TRYING_SUFFIX = ".trying"
"""Of the file in which the recorder names the operator whose derived cases it is trying out."""

MAX_CRASHES = 5
"""Operators on which eager may crash before a recording is given up."""

LOCK_POLL_S = 0.2
"""Seconds between two looks at a lock that another process holds."""

PASSED_ON = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "VIRTUAL_ENV")
"""Environment variables that the recording process may see; all others could change what torch records."""


def cache_dir() -> Path:
    """Return the folder of recorded shards, ``kagent-bench`` in the user's cache folder, made private."""
    folder = cache_root() / "kagent-bench"
    folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    folder.chmod(PRIVATE)
    return folder


@cache
def content_versions() -> tuple[tuple[str, str], ...]:
    """Return what decides a shard's content: torch's and our versions, and a hash of the recording code."""
    recording = Path(__file__).parent / "recording"
    code = hashlib.sha256()
    for source in sorted(recording.rglob("*.py")):
        code.update(source.read_bytes())
    versions = {name: _version(name) for name in ("torch", "numpy", "kagent-bench")}
    return (*versions.items(), ("recorder", code.hexdigest()[:16]), ("format", str(FORMAT)))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def shard_path(folder: Path, dtype: str) -> Path:
    """Return the file of one dtype's shard for the installed versions."""
    versions = "-".join(value for _, value in content_versions())
    return folder / f"opinfo-{re.sub(r'[^A-Za-z0-9.+-]', '_', versions)}-{dtype}.sqlite"


def ensure_shard(dtype: str, note: Callable[[str], None]) -> Path:
    """Return a dtype's shard, recording it first if there is none.

    Two processes that want the same shard record it once: the other one waits.

    Raises:
        HarnessFault: the recording failed, or another process holds the lock for too long.
    """
    path = shard_path(cache_dir(), dtype)
    if path.exists():
        return path
    with _locked(path.with_suffix(".lock"), note):
        if not path.exists():
            note(f"recording the {dtype} samples of PyTorch, once for this version")
            started = time.monotonic()
            _record(path, dtype)
            note(f"recorded the {dtype} samples in {time.monotonic() - started:.0f} s: {path}")
    return path


def _record(path: Path, dtype: str) -> None:
    """Record into a temporary folder beside the target, then rename: a shard is whole or absent."""
    scratch = Path(tempfile.mkdtemp(prefix=".recording-", dir=path.parent))
    try:
        target = scratch / path.name
        finished = _run_recorder(dtype, target)
        skipped: list[str] = []
        # Eager itself crashes on some calls that only rules make: without these of that operator, then.
        while finished.returncode < 0 and len(skipped) < MAX_CRASHES:
            trying = target.with_suffix(TRYING_SUFFIX)
            if not trying.exists():
                break
            skipped.append(f"-{trying.read_text()}")
            trying.unlink()
            finished = _run_recorder(dtype, target, *skipped)
        if finished.returncode or not target.exists():
            last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
            message = f"recording the {dtype} samples failed with exit code {finished.returncode}: {last}"
            raise HarnessFault(message, hint=f"run it by hand: python -m {RECORDER} {dtype} FILE")
        target.replace(path)
    except subprocess.TimeoutExpired as error:
        message = f"recording the {dtype} samples took more than {RECORD_LIMIT_S:.0f} s"
        raise HarnessFault(message, hint="try again on a machine that is less busy") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run_recorder(dtype: str, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-s", "-m", "kagent_bench.throwaway", RECORDER, dtype, str(target), *options],
        cwd=target.parent,
        env=clean_environment(target.parent),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=RECORD_LIMIT_S,
        check=False,
    )


def clean_environment(scratch: Path) -> dict[str, str]:
    """Return the environment of a throwaway process that works in a folder of its own."""
    environment = process_environment()
    clean = {name: environment[name] for name in PASSED_ON if name in environment}
    clean["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    clean["PYTHONHASHSEED"] = "0"
    clean["OMP_NUM_THREADS"] = "1"
    clean["TMPDIR"] = str(scratch)
    return clean


@contextmanager
def _locked(path: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Hold a file lock, waiting no longer than a recording may take.

    The lock ends with its process, so a file that is left over blocks nobody.
    """
    deadline = time.monotonic() + RECORD_LIMIT_S
    said = False
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    message = f"another process holds {path} for more than {RECORD_LIMIT_S:.0f} s"
                    raise HarnessFault(message, hint="end that process, then try again") from None
                if not said:
                    note(f"another process is recording; waiting for {path}")
                    said = True
                time.sleep(LOCK_POLL_S)
        yield
