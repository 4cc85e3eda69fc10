"""Every committed kernel gets the verdict that it must get."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.adversarial.conftest import PLANTED, SECRET_FILE
from tests.adversarial.corpus import Entry, entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.adversarial.judging import Judgement

LIMIT_S = 240
"""Seconds to wait for a kernel: all before it in the queue are judged first."""


def _here(group: str) -> list[Entry]:
    return [entry for entry in entries() if entry.group == group and entry.device == "any"]


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", _here("honest"), ids=lambda entry: entry.name)
def test_honest_kernels_pass(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """No honest kernel is rejected, whatever it looks like."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", [*_here("faulty"), *_here("cheats")], ids=lambda entry: entry.name)
def test_wrong_kernels_are_told(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """A kernel with one fault, or a trick, gets the verdict that names it."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("entry", _here("hostile"), ids=lambda entry: entry.name)
def test_hostile_kernels_are_survived(entry: Entry, judgement: Callable[[Entry], Judgement]) -> None:
    """A hostile kernel gets its verdict, harms nobody and learns no secret."""
    found = judgement(entry)
    assert entry.allows(found.verdict, found.reason), str(found)
    told = found.printed + "".join(record.detail for record in found.records)
    assert [] == [secret for secret in (*PLANTED.values(), SECRET_FILE) if secret in told]


def test_every_fault_has_an_honest_sibling() -> None:
    """A faulty kernel proves something only if the same kernel without the fault is right."""
    honest = {entry.operator for entry in _here("honest")}
    assert set() == {str(entry.operator) for entry in _here("faulty")} - {str(name) for name in honest}
