"""Dropping any check of the evaluator makes a test fail."""

from __future__ import annotations

import ast
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.adversarial.mutate_evaluator import MODULES, ROOT, checkout, mutants, survives

if TYPE_CHECKING:
    from pathlib import Path

LIMIT_S = 1800
"""Seconds for all mutants of a module, each with the oracle's unit tests."""


@pytest.mark.parametrize("module", MODULES)
def test_every_mutant_lacks_something(module: str) -> None:
    """A mutant is a program that differs from the module."""
    original = ast.unparse(ast.parse((ROOT / module).read_text()))
    sources = [mutant.source for mutant in mutants(module)]
    assert len(sources) >= 5
    assert original not in sources


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("module", MODULES)
def test_a_lost_check_is_noticed(module: str, tmp_path: Path) -> None:
    """Of each module one check, another for each text of the module, is lost; ``make mutants`` tries them all."""
    chosen = list(mutants(module))
    mutant = chosen[zlib.crc32((ROOT / module).read_bytes()) % len(chosen)]
    assert not survives(mutant, checkout(tmp_path)), f"{mutant.line}: {mutant.what}"


@pytest.mark.exhaustive
@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("module", MODULES)
def test_every_mutant_is_noticed(module: str, tmp_path: Path) -> None:
    """No check can be lost unseen."""
    copy = checkout(tmp_path)
    assert [] == [f"{item.line}: {item.what}" for item in mutants(module) if survives(item, copy)]
