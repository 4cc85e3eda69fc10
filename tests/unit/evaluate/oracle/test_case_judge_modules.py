"""What judging a case asks of a module, and of what its candidate says of it."""

from __future__ import annotations

import pytest
import torch

from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle import returned
from kagent_bench.evaluate.oracle.contract import argument_names
from kagent_bench.model.program import Input, Node, NodeRef, Program, TensorFacts

FACTS = TensorFacts(dtype="float32", shape=(4,), stride=(1,))


def test_arguments_have_the_names_of_the_module_or_of_the_schema() -> None:
    """They are what a message calls them."""
    node = Node(name="out", operator="aten.relu.default", args=(NodeRef(name="given"),), results=(FACTS,))
    program = Program(
        inputs=(Input(name="given", facts=FACTS),),
        state=(),
        constants=(),
        nodes=(node,),
        output=NodeRef(name="out"),
    )
    assert ["given"] == list(argument_names(ProgramRun(program)))
    assert ["self"] == list(argument_names(torch.ops.aten.relu.default))


@pytest.mark.parametrize(
    ("said", "counts"),
    [
        ({"counts": {"aten.mm.default": 2}}, {"aten.mm.default": 2}),
        ({"counts": {"aten.mm.default": "2", "aten.add.Tensor": 1}}, {"aten.add.Tensor": 1}),
        ({"counts": ["aten.mm.default"]}, {}),
        ({}, {}),
    ],
)
def test_counts_of_calls_are_what_a_candidate_says_as_far_as_it_makes_sense(
    said: dict[str, object], counts: dict[str, int]
) -> None:
    """It may say anything."""
    assert counts == returned.counts(said)
