"""Checks whose loss no other test would notice; found by dropping each check in turn."""

from __future__ import annotations

import math

import pytest
import torch

from kagent_bench.evaluate.oracle.case_judge import _out_of_memory
from kagent_bench.evaluate.oracle.compare import compare
from kagent_bench.evaluate.oracle.contract import check_structure
from kagent_bench.evaluate.tolerance import tolerance_table

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
    assert expected == _out_of_memory(error)
