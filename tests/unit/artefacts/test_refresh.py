"""Writing only what differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from kagent_bench.artefacts.refresh import Change, refresh


def test_equal_content_is_not_touched(tmp_path: Path) -> None:
    """A file is written, left alone byte and time while equal, and refreshed when it differs."""
    path = tmp_path / "a.md"
    assert Change.WRITTEN is refresh(path, "one\n")
    before = path.stat()
    assert Change.UNCHANGED is refresh(path, "one\n")
    assert (before.st_mtime_ns, before.st_ino) == (path.stat().st_mtime_ns, path.stat().st_ino)
    assert Change.REFRESHED is refresh(path, "two\n")
    assert "two\n" == path.read_text()
    assert [path] == list(tmp_path.iterdir())


def test_link_is_replaced_not_followed(tmp_path: Path) -> None:
    """A symbolic link's target keeps its content."""
    target, path = tmp_path / "target", tmp_path / "a.md"
    target.write_text("theirs")
    path.symlink_to(target)
    assert Change.REFRESHED is refresh(path, "ours")
    assert ("theirs", "ours") == (target.read_text(), path.read_text())


def test_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that fails leaves the old content and no temporary file."""
    path = tmp_path / "a.md"
    refresh(path, "one")

    def fail(*_: object) -> None:
        raise OSError

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match=r"^$"):
        refresh(path, "two")
    assert "one" == path.read_text()
    assert [path] == list(tmp_path.iterdir())
