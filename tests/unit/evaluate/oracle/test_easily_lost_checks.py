"""Checks whose loss no other test would notice; found by dropping each check in turn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.oracle.case_judge import CaseJudge
from kagent_bench.evaluate.oracle.compare import compare
from kagent_bench.evaluate.oracle.contract import check_structure
from kagent_bench.evaluate.oracle.reference import out_of_memory
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.evaluate.tolerance import tolerance_table

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from kagent_bench.model.case import Case
    from tests.unit.evaluate.oracle.conftest import CaseWriter, Judge

COMPLEX = tolerance_table({})["complex64"]


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (["tensor", "none"], ["tensor", "tensor"]),
        (["tensor", ["tensor", "none"]], ["tensor", ["tensor", "tensor"]]),
        ([("number", 1)], [("number", 2)]),
    ],
)
def test_a_wrong_item_of_a_list_is_found(got: list[object], expected: list[object]) -> None:
    """Lists of the same length are compared item by item, nested ones too."""
    finding = check_structure(got, expected)
    assert finding is not None
    assert "arity" == finding.reason


def test_numbers_in_lists_may_be_nan() -> None:
    """NaN is the same number as NaN, also inside a list."""
    nan = ("number", math.nan)
    assert check_structure([nan, "tensor"], [("number", float("nan")), "tensor"]) is None


def test_words_are_no_numbers() -> None:
    """An object that is described by the same content is not the number."""
    assert check_structure(("other", "x"), ("number", "x")) is not None


@pytest.mark.parametrize("part", [complex(math.inf, 1), complex(1, -math.inf), complex(math.inf, math.inf)])
def test_a_complex_infinity_is_not_finite(part: complex) -> None:
    """One infinite part makes a number that no finite one stands for, and the other way round."""
    infinite, finite = (
        torch.tensor([part], dtype=torch.complex64),
        torch.tensor([1 + 1j], dtype=torch.complex64),
    )
    for actual, right in ((infinite, finite), (finite, infinite)):
        assert not compare(actual, right, right.to(torch.complex128), limits=COMPLEX).ok


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), True),
        (RuntimeError("the size of tensor a must match"), False),
    ],
)
def test_a_lack_of_memory_is_told_from_other_errors(error: Exception, *, expected: bool) -> None:
    """A case that does not fit is skipped; any other error of the oracle's is its own fault."""
    assert expected == out_of_memory(error)


def _statistics(write: CaseWriter, name: str) -> Case:
    """Return a batch normalisation in training, which updates its running statistics."""
    x, mean, var = write.tensor(4, 3, 5), write.tensor(3), write.literal(torch.ones(3))
    training = True
    return write.case(name, x, None, None, mean, var, training, 0.1, 1e-5)


@pytest.mark.parametrize("name", ["_native_batch_norm_legit.default", "native_batch_norm.default"])
def test_arguments_that_are_written_and_not_returned_are_compared(
    judge: Judge, write: CaseWriter, name: str
) -> None:
    """Statistics that stay as they were are wrong, whether the schema declares the write or eager merely does it."""
    case = _statistics(write, name)
    right = judge(case, overload(case.operator))
    assert None is right.finding, right.detail
    idle = judge(
        case,
        lambda x, w, b, mean, var, *rest: overload(case.operator)(x, w, b, mean.clone(), var.clone(), *rest),
    )
    assert "values" == idle.reason
    assert "running_mean" in idle.detail


def test_an_empty_argument_may_be_written(judge: Judge, write: CaseWriter) -> None:
    """In place on nothing is no fault, and no proof either."""
    case = write.case("relu_.default", write.tensor(0, 3))
    assert "vacuous" == judge(case, overload(case.operator)).reason


def test_an_error_of_the_oracle_is_not_taken_for_a_lack_of_memory(
    write: CaseWriter, oracle_settings: OracleSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a lack of memory skips a case."""
    case = write.case("relu.default", write.tensor(3))
    judging = CaseJudge(case, "value", overload(case.operator), semantics_of(case.operator), oracle_settings)

    def fail(name: str) -> None:
        raise RuntimeError(f"a bug in {name}")

    monkeypatch.setattr(judging._maker, "make", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        judging.open()
