"""Index outputs under ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.oracle.ties import select_the_same

if TYPE_CHECKING:
    from tests.unit.evaluate.oracle.conftest import CaseWriter

ROWS = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, 0.0]])


def same(write: CaseWriter, got: torch.Tensor, expected: torch.Tensor, *args: int | bool) -> bool:
    """Ask about indices into ``ROWS``."""
    write.storages.clear()
    case = write.case("max.dim", write.literal(ROWS), *args)
    return select_the_same(case, [ROWS.flatten()], got, expected)


def test_another_index_of_an_equal_value_is_right(write: CaseWriter) -> None:
    """Both places of a tie are right, with the dimension kept or dropped."""
    expected = torch.tensor([0, 0])
    assert same(write, torch.tensor([2, 1]), expected, 1)
    assert same(write, torch.tensor([[2], [1]]), expected.unsqueeze(1), -1, 1)


@pytest.mark.parametrize("got", [[1, 0], [0, 2], [3, 0], [-1, 0], [2**62, 0]])
def test_an_index_of_another_value_is_wrong(write: CaseWriter, got: list[int]) -> None:
    """An index that selects less, or nothing, is not a tie."""
    assert not same(write, torch.tensor(got), torch.tensor([0, 0]), 1)


def test_an_index_into_the_whole_tensor(write: CaseWriter) -> None:
    """Without a dimension the index counts through all elements."""
    assert same(write, torch.tensor(2), torch.tensor(0))
    for wrong in (1, 6, -1):
        assert not same(write, torch.tensor(wrong), torch.tensor(0))


def test_nan_ties_with_nan(write: CaseWriter) -> None:
    """Any NaN is as good as another one."""
    rows = torch.tensor([float("nan"), 1.0, float("nan")])
    case = write.case("max.dim", write.literal(rows), 0)
    assert select_the_same(case, [rows], torch.tensor(2), torch.tensor(0))
    assert not select_the_same(case, [rows], torch.tensor(1), torch.tensor(0))


def test_a_scalar_source_has_no_ties(write: CaseWriter) -> None:
    """There is one element, so an index that differs is wrong."""
    case = write.case("max.dim", write.literal(torch.tensor(1.0)), 0)
    assert not select_the_same(case, [torch.ones(1)], torch.tensor(1), torch.tensor(0))
