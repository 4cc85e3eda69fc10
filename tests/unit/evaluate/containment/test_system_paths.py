"""The paths that programs need on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from kagent_bench.evaluate.containment.system_paths import (
    cuda_shared_files,
    gpu_devices,
    system_paths,
    tool_paths,
)


def test_compilers_outside_of_the_system_are_found(tmp_path: Path) -> None:
    """A compiler on the search path brings its prefix, without the folder that holds user data."""
    for part in ("bin", "lib", "share", "x86_64-linux-gnu", "projects"):
        (tmp_path / part).mkdir()
    compiler = tmp_path / "bin" / "gcc"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    found = tool_paths({"PATH": str(tmp_path / "bin")})
    assert {tmp_path / part for part in ("bin", "lib", "x86_64-linux-gnu")} == set(found)


def test_nothing_is_taken_from_an_empty_environment() -> None:
    """Without a search path only the system's own compilers count, whose folders are allowed anyway."""
    assert () == tool_paths({"PATH": "/usr/bin"})


def test_the_system_paths_exist_and_hold_no_secrets() -> None:
    """Only what exists is named, and neither /etc nor /proc nor /dev as a whole."""
    paths = system_paths()
    assert all(os.path.lexists(path) for path in paths)
    assert {Path("/"), Path("/etc"), Path("/proc"), Path("/dev"), Path("/sys")}.isdisjoint(paths)


def test_devices_and_shared_files_are_named_for_what_they_are() -> None:
    """GPU devices are those of known drivers; a process that exported nothing shares nothing."""
    assert all(path.name.startswith(("nvidia", "kfd", "dri", "dxg")) for path in gpu_devices())
    assert () == cuda_shared_files(os.getpid())
