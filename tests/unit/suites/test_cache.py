"""The cache of recorded shards."""

from __future__ import annotations

import re
import stat
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.errors import HarnessFault
from kagent_bench.suites import cache

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache folder inside the test's own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kagent-bench"


def _recording(
    monkeypatch: pytest.MonkeyPatch, *, code: int = 0, text: str = "", writes: bool = True
) -> list[list[str]]:
    """Replace the recording process by one that writes a file; return its command lines."""
    commands: list[list[str]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        assert "KAB_SECRET" not in options["env"]
        if writes:
            with open(command[-1], "x", encoding="utf-8") as file:  # noqa: PTH123 - the command holds text
                file.write("shard")
        return subprocess.CompletedProcess(command, code, None, text)

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_folder_is_private(folder: Path) -> None:
    """Nobody else reads what the held-out cases are."""
    assert folder == cache.cache_dir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_shard_is_recorded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time the file is there; nothing is left beside it but the lock."""
    monkeypatch.setenv("KAB_SECRET", "x")
    commands = _recording(monkeypatch)
    notes: list[str] = []
    path = cache.ensure_shard("float32", notes.append)
    assert path == cache.ensure_shard("float32", notes.append)
    assert len(commands) == 1
    assert path.read_text() == "shard"
    assert {path.name, path.with_suffix(".lock").name} == {item.name for item in folder.iterdir()}
    assert "float32" in notes[0]


@pytest.mark.usefixtures("folder")
def test_a_failed_recording_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last line that the process wrote is in the message, and no shard is left."""
    _recording(monkeypatch, code=1, text="Traceback\nImportError: expecttest\n", writes=False)
    with pytest.raises(HarnessFault, match="exit code 1: ImportError: expecttest"):
        cache.ensure_shard("float32", lambda _: None)
    assert [] == list(cache.cache_dir().glob("*.sqlite"))


def test_a_lock_that_is_held_does_not_block_for_ever(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the lock file."""
    monkeypatch.setattr(cache, "RECORD_LIMIT_S", 0.0)
    path = cache.shard_path(cache.cache_dir(), "bool").with_suffix(".lock")
    with cache._locked(path, lambda _: None), pytest.raises(HarnessFault, match=re.escape(path.name)):
        cache.ensure_shard("bool", lambda _: None)
    assert folder.exists()


def test_file_name_holds_what_decides_the_content(folder: Path) -> None:
    """Another dtype or version is another file."""
    names = {name for name, _ in cache.content_versions()}
    assert {"torch", "numpy", "kagent-bench", "recorder", "format"} == names
    assert cache.shard_path(folder, "bool") != cache.shard_path(folder, "int64")
