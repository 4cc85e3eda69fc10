"""What is known of an operator, from its schema and from the tables."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.oracle import semantics
from kagent_bench.evaluate.oracle.semantics import overload, schema_of, semantics_of
from kagent_bench.model.names import OperatorName


def facts(name: str) -> semantics.Semantics:
    """Return the facts about an operator."""
    return semantics_of(OperatorName.parse(name))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("relu.default", set()),
        ("relu_.default", {"self"}),
        ("add.out", {"out"}),
        ("max.dim_max", {"max", "max_values"}),
        ("t.default", set()),
        ("_foreach_add_.Scalar", {"self"}),
    ],
)
def test_the_schema_tells_what_is_written(name: str, written: set[str]) -> None:
    """In-place and out= overloads write; a view does not."""
    assert written == facts(name).mutated


def test_in_place_overloads_have_the_class_of_their_operator() -> None:
    """relu_ is as elementwise as relu, addmm_ as linear as addmm, tanh_ as interior as tanh."""
    assert facts("relu_.default").elementwise
    assert facts("addmm_.default").linear
    assert facts("tanh_.default").interior
    assert facts("relu.default").specials == facts("relu_.default").specials
    assert not facts("sum.dim_IntList").elementwise


@pytest.mark.parametrize(
    ("name", "output"),
    [("max.dim", 1), ("argmax.default", 0), ("topk.default", 1), ("max.default", None), ("add.Tensor", None)],
)
def test_outputs_that_ties_leave_open(name: str, output: int | None) -> None:
    """Only an overload that returns indices has one."""
    assert output == facts(name).tie_output


@pytest.mark.parametrize(
    "table",
    ["LINEAR", "INTERIOR", "ACTIVATIONS", "SPECIAL_REDUCTIONS", "COPIES", "CONSTANT_OUTPUT", "FEW_LEVELS"],
)
def test_the_tables_name_operators_that_exist(table: str) -> None:
    """A misspelt name in a table would say nothing about anything."""
    import torch

    known = {schema.name.removeprefix("aten::") for schema in torch._C._jit_get_all_schemas()}
    unknown = {name for name in getattr(semantics, table) if name not in known}
    assert set() == unknown


def test_an_operator_that_torch_lacks_is_an_attribute_error() -> None:
    """Another version of torch may not have it; that is told apart."""
    with pytest.raises(AttributeError):
        overload(OperatorName.parse("frobnicate.default"))
    assert "aten::relu" == schema_of(overload(OperatorName.parse("relu"))).name
