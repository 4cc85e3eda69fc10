"""Every committed kernel gets the verdict that it must get."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.adversarial.conftest import PLANTED, SECRET_FILE
from tests.adversarial.corpus import CLASSES, Entry, entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.corpus.judges import Judgement
    from kagent_bench.evaluate.session import Session

LEAST = {"cheats": 45, "faulty": 40, "hostile": 15, "honest": 20}
LIMIT_S = 240
"""Seconds to wait for a kernel: all before it in the queue are judged first."""


def _here(group: str) -> list[Any]:
    return [_parameter(entry) for entry in entries() if entry.group == group and entry.device == "any"]


def _parameter(entry: Entry) -> Any:
    marks = [pytest.mark.xfail(reason=f"missing: {entry.missing}", strict=True)] if entry.missing else []
    return pytest.param(entry, id=entry.name, marks=marks)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", _here("honest"))
def test_honest_kernels_pass(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """No honest kernel is rejected, whatever it looks like."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", [*_here("faulty"), *_here("cheats")])
def test_wrong_kernels_are_told(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """A kernel with one fault, or a trick, gets the verdict that names it."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", _here("hostile"))
def test_hostile_kernels_are_survived(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """A hostile kernel gets its verdict, harms nobody and learns no secret."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)
    told = found.printed + "".join(record.detail for record in found.records)
    assert [] == [secret for secret in (*PLANTED.values(), SECRET_FILE) if secret in told]


def test_no_helper_process_knows_a_key(session: Session, planted: dict[str, str]) -> None:
    """The keys of whoever runs the evaluator are in no environment of a process that it starts."""
    family = [str(os.getpid())]
    for parent in family:
        for listing in Path(f"/proc/{parent}/task").glob("*/children"):
            family += listing.read_text().split()
    assert session.machine
    assert len(family) > 2
    known = b"".join(Path(f"/proc/{pid}/environ").read_bytes() for pid in family[1:] if _alive(pid))
    assert [] == [value for value in planted.values() if value.encode() in known]


def _alive(pid: str) -> bool:
    return Path(f"/proc/{pid}/environ").exists()


def test_every_fault_has_an_honest_sibling() -> None:
    """A faulty kernel proves something only if the same kernel without the fault is right."""
    operators = {
        group: {str(entry.operator) for entry in entries() if entry.group == group} for group in CLASSES
    }
    assert set() == operators["faulty"] - operators["honest"]


def test_the_corpus_is_as_large_as_promised() -> None:
    """Cheats, faulty, hostile and honest kernels, with verdicts that are none of an honest kernel's for the first two."""
    counts = Counter(entry.group for entry in entries())
    assert all(counts[group] >= least for group, least in LEAST.items())
    lenient = [
        entry.name
        for entry in entries()
        if entry.group in {"cheats", "faulty"} and entry.allows("correct", "")
    ]
    assert [] == lenient
