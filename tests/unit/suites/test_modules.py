"""Problem files that do what files should not: each ends with its own status, and the others are recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from kagent_bench.errors import InputError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.suites import modules

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.model.selection import OperatorCases

Record: TypeAlias = "Callable[..., list[OperatorCases]]"

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
    "names_its_arguments": GOOD.replace("forward(self, x)", "forward(self, x, scale=2, bias=0)")
    .replace("relu(x)", "relu(x * scale) + bias")
    .replace("[torch.randn(4, 4)]", '{"x": torch.randn(4, 4), "bias": torch.randn(4)}'),
    "one_tensor": GOOD.replace("[torch.randn(4, 4)]", "torch.randn(4, 4)"),
    "takes_a_dict": GOOD.replace("relu(x)", 'relu(x["a"])').replace(
        "[torch.randn(4, 4)]", '[{"a": torch.randn(4, 4)}]'
    ),
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


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Record what the arguments name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return lambda *named: list(modules.ModuleSuite().operators(SuiteRequest(files=named)))


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
        "names_its_arguments": "",
        "one_tensor": "",
        "takes_a_dict": "argument_kind",
        "lacks": "missing_import",
    } == faults


def test_a_class_is_a_problem_with_what_is_stated(record: Record) -> None:
    """A class of an installed package is made of and called with what the user writes after it."""
    (item,) = record("torch.nn:Linear(3, out_features=5)(torch.randn(2, 3))")

    assert item.module is not None
    assert "Linear.module" == str(item.operator)
    assert ((3,), (("out_features", 5),)) == (item.module.init, item.module.init_kwargs)
    assert ["aten.linear.default"] == [node.operator for node in item.module.program.nodes]


def test_a_class_of_a_file_or_package_has_the_arguments_of_its_module(
    record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several classes of one file are several problems; a package is found from here, and imports its own modules."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sizes.py").write_text("WIDTH = 6\n")
    own = GOOD.replace("import torch", "import torch\n\nfrom mine.sizes import WIDTH").replace(
        "4, 4", "4, WIDTH"
    )
    (package / "models.py").write_text(own.replace("Model", "Rectifier"))
    (tmp_path / "two.py").write_text(GOOD + GOOD.replace("Model", "Other").replace("relu", "exp"))
    monkeypatch.chdir(tmp_path)
    found = record("two.py:Other", "mine.models:Rectifier", "two.py:Model()(torch.ones(3))")
    programs = {str(item.operator): item.module.program for item in found if item.module is not None}
    facts = {name: program.inputs[0].facts for name, program in programs.items()}

    assert {"Model.module": (3,), "Other.module": (4, 4), "Rectifier.module": (4, 6)} == {
        name: known.shape for name, known in facts.items() if known is not None
    }
    assert ["aten.exp.default"] == [node.operator for node in programs["Other.module"].nodes]


def test_a_function_is_a_problem_with_what_it_is_called_with(record: Record) -> None:
    """A composite operator at the user's shapes, numbers and words included."""
    (item,) = record("torch.nn.functional:layer_norm(torch.randn(4, 6), (6,), eps=1e-3)")

    assert item.module is not None
    (node,) = item.module.program.nodes
    assert ("aten.layer_norm.default", (6,), True) == (node.operator, node.args[1], 1e-3 in node.args)


def test_a_class_without_arguments_is_a_fault_of_its_own(record: Record) -> None:
    """Neither the user nor the module says what to call it with."""
    (item,) = record("torch.nn:Linear")

    assert item.fault is not None
    assert ("missing_import", True) == (item.fault.reason, "get_inputs" in item.fault.detail)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("nothing_of_this_name:Model", "no module 'nothing_of_this_name'"),
        ("nothing.py:Model", "no file 'nothing.py'"),
        ("torch.nn:Linear(3, 5)(x=torch.ones(3))", "by position"),
        ("torch.nn:Linear(3)(4)(5)", "by position"),
        ("torch.nn.functional:gelu", "what the function is called with"),
        ("torch.nn:Linear(3,,)", "invalid syntax"),
        ("nothing/at/all", "no folder or file"),
    ],
)
def test_what_names_no_class_is_wrong_use(text: str, part: str) -> None:
    """The error says what is wrong with the text."""
    with pytest.raises(InputError, match=part):
        modules.ModuleSuite().operator_names(SuiteRequest(files=(text,)))
