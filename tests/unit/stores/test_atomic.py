"""Atomic files and the lock."""

from __future__ import annotations

import os
import stat
import time
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import UsageError
from kagent_bench.stores.atomic import file_lock, is_locked, write_json, write_text

if TYPE_CHECKING:
    from pathlib import Path


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """What cannot be written leaves the former content and no temporary file."""
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, {"a": float("nan")})
    assert '{\n  "a": 1\n}\n' == path.read_text()
    assert [path] == list(tmp_path.iterdir())


def test_a_failed_rename_leaves_nothing(tmp_path: Path) -> None:
    """Where the target is a folder, the temporary file is removed again."""
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="a"):
        write_text(tmp_path / "a", "x")
    assert ["a"] == [path.name for path in tmp_path.iterdir()]


def test_the_users_umask_decides_the_mode(tmp_path: Path) -> None:
    """A file is as readable as if ``open`` had made it."""
    (tmp_path / "plain").write_text("x")
    write_text(tmp_path / "atomic", "x")
    assert (tmp_path / "plain").stat().st_mode == (tmp_path / "atomic").stat().st_mode
    write_text(tmp_path / "private", "x", mode=0o600)
    assert 0o600 == stat.S_IMODE((tmp_path / "private").stat().st_mode)


def test_a_stale_lock_file_locks_nothing(tmp_path: Path) -> None:
    """A lock file left by a dead process does not make anyone wait."""
    path = tmp_path / "lock"
    path.write_text("12345")
    started = time.monotonic()
    with file_lock(path, timeout_s=5.0):
        pass
    assert time.monotonic() - started < 1.0


def test_a_held_lock_is_not_waited_for_without_end(tmp_path: Path) -> None:
    """A held lock gives an error that names its path once the time is over."""
    path = tmp_path / "lock"
    with (
        file_lock(path, timeout_s=0),
        pytest.raises(UsageError, match=str(path)),
        file_lock(path, timeout_s=0.1),
    ):
        pass
    assert not is_locked(path)


def test_is_locked_sees_a_holder(tmp_path: Path) -> None:
    """A held lock is seen; a missing or free one is not."""
    path = tmp_path / "lock"
    assert not is_locked(path)
    with file_lock(path, timeout_s=0):
        assert is_locked(path)
    assert not is_locked(path)


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    """Locking and writing close what they open."""
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted, not read
    for _ in range(3):
        with file_lock(tmp_path / "lock", timeout_s=0):
            write_text(tmp_path / "a", "x")
    assert before == len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - counted, not read
