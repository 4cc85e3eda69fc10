"""What is called of a candidate for a module, and where its weights go."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch

from kagent_bench.evaluate.candidate.module_entry import StateMismatch, find_entry

PROBLEM: dict[str, Any] = {
    "init": [3],
    "init_kwargs": {},
    "state": {"linear_weight": ["linear.weight"], "scale": ["scale"]},
}
WEIGHTS = {"linear_weight": torch.full((3, 3), 2.0), "scale": torch.full((3,), 0.5)}


class ModelNew(torch.nn.Module):
    """A right class, with a name of its own for one buffer."""

    def __init__(self, width: int, factor: str = "factor") -> None:
        """Make the layers."""
        super().__init__()
        self.linear = torch.nn.Linear(width, width, bias=False)
        self.register_buffer(factor, torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute."""
        made: torch.Tensor = self.linear(x) * self.get_buffer("factor")
        return made


def _file(**names: object) -> Any:
    module = types.SimpleNamespace(**names)
    return find_entry(module, "kernel_function", PROBLEM, "cpu")


def test_a_function_gets_weights_by_its_own_names() -> None:
    """A function whose parameters have the program's names is called by name, another one by position."""
    named = _file(kernel_function=lambda x, scale, linear_weight: (x, scale, linear_weight))
    other = _file(kernel_function=lambda x, w, s: (x, w, s))

    assert (1, "s", "w") == named(1, linear_weight="w", scale="s")
    assert (1, "w", "s") == other(1, linear_weight="w", scale="s")


def test_a_class_gets_weights_by_name_and_the_rest_by_shape() -> None:
    """Parameters of the module's names take its values; a buffer of another name takes what is left."""
    assert [3.0, 3.0, 3.0] == _file(ModelNew=ModelNew)(torch.ones(3), **WEIGHTS).tolist()


def test_a_class_without_a_place_for_a_weight_is_told_so() -> None:
    """What the class lacks, and what it has, is named."""
    weights = {**WEIGHTS, "scale": torch.ones(4)}

    with pytest.raises(StateMismatch, match=r"no place for scale \(4,\).*linear.weight, factor"):
        _file(ModelNew=ModelNew)(torch.ones(3), **weights)


def test_a_file_without_either_has_no_entry() -> None:
    """Neither a function nor a class is no entry."""
    assert _file() is None
