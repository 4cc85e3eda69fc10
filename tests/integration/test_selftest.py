"""The command that shows what an installation catches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.evaluate.corpus.entries import CLASSES, entries

if TYPE_CHECKING:
    from tests.integration.conftest import Command


def test_honest_kernels_pass_and_limits_are_said(command: Command, tmp_path: Path) -> None:
    """All that look like cheats and are none; what cannot be caught without a GPU is in words."""
    done = command(tmp_path, "selftest", "--kind", "honest", "--device", "cpu", "--json")
    found = json.loads(done.stdout)
    total = sum(entry.group == "honest" for entry in entries())
    assert (0, True) == (done.returncode, found["ok"]), done.stdout
    assert {"honest": {"kernels": total, "as_expected": total}} == found["kinds"]
    assert any(text.startswith("time: ") for text in found["limits"])
    assert [] == list(tmp_path.iterdir())


def test_each_kind_is_shown(command: Command, tmp_path: Path) -> None:
    """One kernel of each kind, told with the property that it tries."""
    only = "torch_relu,nan_lost,secrets_searched,tuple_arguments"
    done = command(tmp_path, "selftest", "--only", only, "--device", "cpu")
    assert 0 == done.returncode, done.stdout
    said = dict.fromkeys(line.split()[0] for line in done.stdout.splitlines() if " 1 of 1 " in line)
    assert list(CLASSES) == [word for word in said if word in CLASSES]
    assert "1 of 1  calls of libraries are seen" in done.stdout
    assert done.stdout.rstrip().endswith("\nas expected")


def test_a_kernel_that_is_not_told_is_named(command: Command, tmp_path: Path) -> None:
    """With the compile check switched off one cheat passes: exit code 1, its name, and what is missing."""
    arguments = ("--only", "numpy_in_kernel", "--compile-target", "none", "--device", "cpu")
    done = command(tmp_path, "selftest", *arguments)
    assert 1 == done.returncode
    assert "cheats/relu__default__numpy_in_kernel: correct" in done.stdout
    assert "compiling: compile_target is none" in done.stdout
    assert "NOT as expected" in done.stdout


def test_unknown_names_are_wrong_use(command: Command, tmp_path: Path) -> None:
    """Two lines, nothing judged."""
    for arguments, word in (
        (("--kind", "nice"), "cheats"),
        (("--only", "no_such_kernel"), "selftest --json"),
    ):
        done = command(tmp_path, "selftest", *arguments)
        assert (2, "") == (done.returncode, done.stdout)
        assert word in done.stderr
