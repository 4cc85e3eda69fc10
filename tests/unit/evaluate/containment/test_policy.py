"""The allow-list of a candidate."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import kagent_bench
from kagent_bench.evaluate.containment.policy import ContainmentPolicy, default_policy


def _allows(policy: ContainmentPolicy, path: Path) -> bool:
    return any(path == allowed or path.is_relative_to(allowed) for allowed in policy.readable)


@pytest.mark.parametrize(
    "changes",
    [{"scratch": Path("here")}, {"readable": (Path("/usr/../home"),)}, {"secrets": (Path("seed"),)}],
)
def test_relative_paths_are_refused(changes: dict[str, object]) -> None:
    """A path that depends on the working folder would mean another file inside."""
    given: dict[str, object] = {"scratch": Path("/s"), "readable": (), "devices": ()} | changes
    with pytest.raises(ValueError, match="absolute"):
        ContainmentPolicy(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["scratch", "readable"])
def test_the_root_folder_is_refused(name: str) -> None:
    """Allowing everything is no policy."""
    root: object = Path("/") if name == "scratch" else (Path("/"),)
    given: dict[str, object] = {"scratch": Path("/s"), "readable": (), "devices": (), name: root}
    with pytest.raises(ValueError, match="every secret"):
        ContainmentPolicy(**given)  # type: ignore[arg-type]


def test_the_interpreter_is_readable_and_the_user_is_not(tmp_path: Path) -> None:
    """Python and this package can be read; homes, the checkout around it, other temporary files cannot."""
    policy = default_policy(tmp_path)
    package = Path(kagent_bench.__file__).parent
    for path in (Path(os.__file__), Path(sys.executable), package / "errors.py", Path("/usr/bin/env")):
        assert _allows(policy, path), path
    for path in (tmp_path.parent / "x", Path("/etc/shadow"), Path("/home/x/.ssh"), package.parent / "runs"):
        assert not _allows(policy, path), path


def test_another_candidate_gets_its_own_folder(tmp_path: Path) -> None:
    """A policy for the next candidate differs in folder and environment only."""
    policy = default_policy(tmp_path)
    other = policy.with_scratch(tmp_path / "next", {"HOME": "next"})
    assert (tmp_path / "next", {"HOME": "next"}) == (other.scratch, other.environment)
    assert policy.readable == other.readable
