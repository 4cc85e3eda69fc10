"""Control outputs that a case must tell from the right answer."""

from __future__ import annotations

import torch

from kagent_bench.evaluate.oracle.controls import controls_for
from kagent_bench.evaluate.oracle.semantics import semantics_of
from kagent_bench.model.names import OperatorName


def outputs(operator: str, eager: torch.Tensor, *inputs: torch.Tensor) -> dict[str, torch.Tensor | None]:
    """Return what each control makes of an output."""
    controls = controls_for(semantics_of(OperatorName.parse(operator)), inputs)
    return {name: control(eager) for name, control in controls.items()}


def test_the_controls_of_a_usual_operator() -> None:
    """Zeros, ones, the first input of the right shape, and the right values in the wrong places."""
    eager, small, fits = torch.tensor([1.0, 2.0, 3.0]), torch.zeros(1), torch.tensor([7, 8, 9])
    made = outputs("add.Tensor", eager, small, fits)
    expected = {
        "zeros": [0.0, 0.0, 0.0],
        "ones": [1.0, 1.0, 1.0],
        "input": [7.0, 8.0, 9.0],
        "shuffled": [3.0, 1.0, 2.0],
    }
    assert expected == {name: None if output is None else output.tolist() for name, output in made.items()}
    assert {torch.float32} == {output.dtype for output in made.values() if output is not None}


def test_a_control_that_does_not_apply_is_none() -> None:
    """A single element cannot be shuffled, and no input may have the output's shape."""
    made = outputs("sum.default", torch.tensor(1.0), torch.zeros(4))
    assert made["shuffled"] is None
    assert made["input"] is None


def test_a_copy_is_not_told_from_its_input() -> None:
    """The input is the right answer of a copy, and zeros are that of zeros_like."""
    eager = torch.tensor([1.0, 2.0])
    assert {"zeros", "ones", "shuffled"} == set(outputs("clone.default", eager, eager))
    assert {} == outputs("zeros_like.default", eager, eager)
