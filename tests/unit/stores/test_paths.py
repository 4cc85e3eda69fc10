"""Run folders: names, the latest, the one to go on with."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.errors import InputError
from kagent_bench.stores.atomic import file_lock, write_json
from kagent_bench.stores.paths import latest_run, new_run_dir, resumable_run
from kagent_bench.stores.run_file import RunFile, RunState

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=timezone.utc)


def write_run(path: Path, **changes: object) -> Path:
    """Store a minimal run file in a folder."""
    fields: dict[str, Any] = {
        "kab_version": "0",
        "created": "",
        "finished": None,
        "state": RunState.RUNNING,
        "command": (),
        "fingerprint": "f",
        "suite_name": "smoke",
        "suite_sha256": "",
        "settings": {},
        "device": {"kind": "cpu"},
        "selection": (),
        "kernels": {},
    }
    write_json(path / "run.json", RunFile(**{**fields, **changes}).to_json())
    return path


def test_a_run_folder_is_named_by_time_and_suffix(tmp_path: Path) -> None:
    """The name says when and what; a taken name gets a number; unsafe characters are replaced."""
    assert "run_20260304_050607_opinfo" == new_run_dir(tmp_path, "opinfo", now=NOW).name
    assert "run_20260304_050607_opinfo_2" == new_run_dir(tmp_path, "opinfo", now=NOW).name
    assert "run_20260304_050607_my-suite" == new_run_dir(tmp_path, "../my suite", now=NOW).name


def test_a_root_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """A path that cannot hold folders is named."""
    (tmp_path / "root").write_text("")
    with pytest.raises(InputError, match="cannot make the run folder"):
        new_run_dir(tmp_path / "root", "x")


def test_the_latest_run_is_the_newest_with_a_run_file(tmp_path: Path) -> None:
    """Folders without a run file and other names do not count."""
    write_run(new_run_dir(tmp_path, "a", now=NOW))
    newest = write_run(new_run_dir(tmp_path, "b", now=NOW.replace(hour=6)))
    new_run_dir(tmp_path, "c", now=NOW.replace(hour=7))
    (tmp_path / "zzz").mkdir()
    assert newest == latest_run(tmp_path)


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_no_run_is_said_clearly(tmp_path: Path, name: str) -> None:
    """Without a run there is an error that names the folder."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"no run in .*{name}"):
        latest_run(tmp_path / name)


def test_only_an_unfinished_free_run_of_the_same_work_is_resumable(tmp_path: Path) -> None:
    """Finished, different, broken and locked runs are left alone."""
    assert resumable_run(tmp_path / "missing", "f") is None
    run = write_run(new_run_dir(tmp_path, "a", now=NOW))
    write_run(new_run_dir(tmp_path, "b", now=NOW.replace(hour=6)), state=RunState.FINISHED)
    write_run(new_run_dir(tmp_path, "c", now=NOW.replace(hour=7)), fingerprint="g")
    (new_run_dir(tmp_path, "d", now=NOW.replace(hour=8)) / "run.json").write_text("{")
    assert run == resumable_run(tmp_path, "f")
    assert resumable_run(tmp_path, "h") is None
    with file_lock(run / ".lock", timeout_s=0):
        assert resumable_run(tmp_path, "f") is None
