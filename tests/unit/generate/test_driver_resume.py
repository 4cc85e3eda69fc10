"""The driver: what is done again and what is not, and that an interruption loses nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import UsageError
from kagent_bench.generate.driver import generate_kernels
from kagent_bench.generate.summary import Outcome
from kagent_bench.model.progress import Silent
from kagent_bench.stores.kernels import KernelStore
from tests.unit.generate.generators import (
    ABS,
    RELU,
    SIN,
    Judges,
    Sleeper,
    Writer,
    generate,
    kernel,
    only,
    selection,
    set_up,
    settings,
    wait_until,
)

if TYPE_CHECKING:
    from kagent_bench.config.schema import Settings
    from kagent_bench.model.selection import Selection


def test_generates_and_resumes(tmp_path: Path) -> None:
    """Every operator gets a kernel; a second generation does none of them again."""
    chosen, writer = selection(ABS, RELU, SIN), Writer()
    first = generate(chosen, writer, settings(tmp_path))
    assert {"generated": 3} == first.counts
    assert ["abs.default", "relu.default", "sin.default"] == [item.op_name for item in first.operators]
    assert first.ok
    stored = KernelStore(tmp_path).provenance(RELU)
    assert stored is not None
    assert ("fake", "1", False) == (stored.generator, stored.generator_version, stored.verified)
    assert "none" == stored.details["model"]
    second = generate(chosen, writer, settings(tmp_path))
    assert {"up_to_date": 3} == second.counts
    assert second.ok
    assert 3 == len(writer.asked)
    assert str(tmp_path / RELU.folder / f"{RELU.kernel_stem}.py") == second.operators[1].kernel_path


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda using: (selection(RELU), Writer(), using, "fake"), False),
        (lambda using: (selection(RELU, n_cases=7), Writer(), using, "fake"), True),
        (lambda using: (selection(RELU), Writer(version="2"), using, "fake"), True),
        (lambda using: (selection(RELU), Writer(), using, "other"), True),
        (lambda using: (selection(RELU), Writer(), settings(using.base_dir, force=True), "fake"), True),
    ],
)
def test_what_makes_a_kernel_out_of_date(
    tmp_path: Path,
    change: Callable[[Settings], tuple[Selection, Writer, Settings, str]],
    again: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A changed problem, another generator or version, and --force generate again; nothing else does."""
    using = settings(tmp_path)
    generate(selection(RELU), Writer(), using)
    chosen, writer, using, name = change(using)
    result = only(generate(chosen, writer, using, name=name))
    assert (Outcome.GENERATED if again else Outcome.UP_TO_DATE) == result.outcome
    assert ([str(RELU)] if again else []) == writer.asked


def test_work_by_hand_is_kept(tmp_path: Path) -> None:
    """A kernel that was changed by hand is not overwritten, and is said; --force stores it before it goes."""
    using, store = settings(tmp_path), KernelStore(tmp_path)
    generate(selection(RELU), Writer(), using)
    path = store.path(RELU)
    path.write_text("mine = 1\n")
    kept = only(generate(selection(RELU), Writer(version="2"), using))
    assert (Outcome.KEPT, "by_hand", True) == (kept.outcome, kept.reason, kept.ok)
    assert "mine = 1\n" == path.read_text()
    forced = only(generate(selection(RELU), Writer(version="2"), settings(tmp_path, force=True)))
    assert Outcome.GENERATED is forced.outcome
    assert kernel(RELU) == path.read_text()
    assert ["mine = 1\n"] == [item.attempt.source for item in store.attempts(RELU)]


def test_foreign_folder_is_kept(tmp_path: Path) -> None:
    """A kernel without provenance, under a name that BackendBench takes, is left alone."""
    folder = tmp_path / RELU.folder
    folder.mkdir()
    (folder / f"{RELU.kernel_stem}_v1.py").write_text("theirs = 1\n")
    assert Outcome.KEPT is only(generate(selection(RELU), Writer(), settings(tmp_path))).outcome


def test_interruption_loses_nothing(tmp_path: Path) -> None:
    """Ctrl-C while an operator is under way keeps what was finished, and nothing is written afterwards."""

    class Interrupted(Silent):
        def done(self, name: str, outcome: str, *, ok: bool) -> None:
            raise KeyboardInterrupt(name, outcome, ok)

    chosen, sleeper = selection(ABS, RELU), Sleeper()
    set_up(tmp_path, chosen)
    with pytest.raises(KeyboardInterrupt):
        generate_kernels(chosen, "fake", sleeper, settings(tmp_path), Judges(), Interrupted(), device="cpu")
    sleeper.release.set()
    assert wait_until(lambda: not any("generate" in thread.name for thread in threading.enumerate()))
    store = KernelStore(tmp_path)
    assert (ABS,) == store.operators()
    assert () == store.attempts(RELU)
    resumed = generate(chosen, Writer(), settings(tmp_path))
    assert ["up_to_date", "generated"] == [item.outcome.value for item in resumed.operators]


def test_stale_artefacts_are_refused(tmp_path: Path) -> None:
    """With a stale setup nothing is generated and the command to run is named."""
    writer, using = Writer(), settings(tmp_path)
    set_up(tmp_path, selection(RELU))
    with pytest.raises(UsageError, match="stale") as caught:
        generate_kernels(selection(RELU, n_cases=7), "fake", writer, using, Judges(), Silent(), device="cpu")
    assert "kab setup --suite fake" in caught.value.hint
    assert [] == writer.asked


def test_a_folder_that_was_never_set_up_needs_no_setup(tmp_path: Path) -> None:
    """Problems are made from the suite itself, so a generator can start in a folder that is not there yet."""
    writer = Writer()
    missing = settings(tmp_path / "not" / "there")
    generate_kernels(selection(RELU), "fake", writer, missing, Judges(), Silent(), device="cpu")
    assert 1 == len(writer.asked)
