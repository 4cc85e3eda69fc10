"""Problem files that do what files should not: each ends with its own status, and the others are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import InputError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.suites import modules

if TYPE_CHECKING:
    from kagent_bench.model.selection import OperatorCases

TIMEOUT_S = 20.0
"""Long enough for a good file on a busy machine."""
GOOD = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(4, 4)]


def get_init_inputs():
    return []
"""
FILES = {
    "good": GOOD,
    "prints": 'print("x" * 1_000_000)\n' + GOOD.replace("return torch", 'print("{}")\n        return torch'),
    "loops": "while True:\n    pass\n",
    "loops_inside": GOOD.replace("return torch", "while True:\n            pass\n        return torch"),
    "raises": GOOD.replace("return torch.relu(x)", 'raise ValueError("not today")'),
    "lacks": "import nothing_of_this_name\n",
}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, OperatorCases]:
    """Record all files at once."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(modules, "PROBLEM_TIMEOUT_S", TIMEOUT_S)
    folder = tmp_path / "problems"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / f"{name}.py").write_text(text)
    found = modules.ModuleSuite().operators(SuiteRequest(files=(str(folder),)))
    return {str(item.operator).removesuffix(".module"): item for item in found}


@pytest.mark.timeout(300)
def test_every_file_has_its_own_status(recorded: dict[str, OperatorCases]) -> None:
    """What loops is ended by time, what raises or lacks something is named, what prints is recorded."""
    faults = {name: item.fault.reason if item.fault else "" for name, item in recorded.items()}

    assert {
        "good": "",
        "prints": "",
        "loops": "problem_timeout",
        "loops_inside": "problem_timeout",
        "raises": "not_exportable",
        "lacks": "missing_import",
    } == faults


def test_a_class_by_name_is_declined_with_a_way() -> None:
    """Nothing says what its arguments are; the error says how a file does."""
    with pytest.raises(InputError, match="names a class") as caught:
        modules.ModuleSuite().operator_names(SuiteRequest(files=("torch.nn:Linear",)))

    assert "from torch.nn import Linear as Model" in (caught.value.hint or "")
