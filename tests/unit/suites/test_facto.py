"""The suite of FACTO, with a package of its interface in its place."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.suites.facto import FactoSuite
from kagent_bench.suites.left_out import left_out_notes

GENERATOR = """
import torch

class ArgumentTupleGenerator:
    def __init__(self, spec):
        self.spec = spec

    def gen(self):
        yield from self.spec()
"""
SPECIFICATIONS = """
import torch

def _add():
    yield [torch.rand(4, 3), torch.rand(3)], {"alpha": 2}, {}
    yield [torch.rand(4, 3), torch.rand(5)], {}, {}
    yield [torch.rand(4, 3), torch.rand(3)], {"alpha": object()}, {}
    raise ValueError("no more")

SpecDictDB = {"add.Tensor": _add, "no_such_operator.default": _add}
"""


@pytest.fixture
def facto(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package with FACTO's interface where it is found, and the cache aside."""
    for name, text in {
        "facto/__init__.py": "",
        "facto/specdb/__init__.py": "",
        "facto/specdb/db.py": SPECIFICATIONS,
        "facto/inputgen/__init__.py": "",
        "facto/inputgen/argtuple/__init__.py": "",
        "facto/inputgen/argtuple/gen.py": GENERATOR,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("facto")
def test_what_eager_takes_becomes_a_case() -> None:
    """Values are fresh where that can be; what makes no case is counted, and the sources are told."""
    suite = FactoSuite()

    (item,) = suite.operators(SuiteRequest())
    (case,) = item.cases

    assert ("add.Tensor", "facto", 2) == (str(item.operator), case.origin, dict(case.kwargs)["alpha"])
    assert suite.data_notes()[0].startswith("data: calls made up by FACTO, sources ")
    assert {
        "1 calls of add.Tensor make no case: FACTO raised ValueError",
        "1 calls of add.Tensor make no case: eager PyTorch raises",
        "1 calls of add.Tensor make no case: object_argument",
    } == set(suite.data_notes()[1:])


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says where the package comes from."""
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "facto", raising=False)
    importlib.invalidate_caches()

    with pytest.raises(UsageError, match="needs FACTO, which is not installed"):
        FactoSuite()


def test_reasons_are_told_once() -> None:
    """With the sum over all operators, of which the first few are named."""
    counts = [(name, {"too large": 2, "odd": 1} if name == "b" else {"too large": 1}) for name in "abcde"]

    assert (
        "6 calls of b, a, c and 2 more operators make no case: too large",
        "1 calls of b make no case: odd",
    ) == left_out_notes(counts)
