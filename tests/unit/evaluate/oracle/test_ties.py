"""Index outputs under ties."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.oracle.ties import select_the_same

if TYPE_CHECKING:
    from tests.unit.evaluate.oracle.conftest import CaseWriter

ROWS = torch.tensor([[3.0, 1.0, 3.0], [2.0, 2.0, 0.0]])


def same(
    write: CaseWriter, got: torch.Tensor, expected: torch.Tensor, *args: int | bool, name: str = "max.dim"
) -> bool:
    """Ask about indices into ``ROWS``."""
    write.storages.clear()
    case = write.case(name, write.literal(ROWS), *args)
    return select_the_same(case, [ROWS.flatten()], got, expected, ["self", "dim", "keepdim"])


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
    assert same(write, torch.tensor(2), torch.tensor(0), name="argmax.default")
    for wrong in (1, 6, -1):
        assert not same(write, torch.tensor(wrong), torch.tensor(0), name="argmax.default")


def test_nan_ties_with_nan(write: CaseWriter) -> None:
    """Any NaN is as good as another one."""
    rows = torch.tensor([float("nan"), 1.0, float("nan")])
    case = write.case("max.dim", write.literal(rows), 0)
    names = ["self", "dim"]
    assert select_the_same(case, [rows], torch.tensor(2), torch.tensor(0), names)
    assert not select_the_same(case, [rows], torch.tensor(1), torch.tensor(0), names)


def test_a_scalar_source_has_no_ties(write: CaseWriter) -> None:
    """There is one element, so an index that differs is wrong."""
    case = write.case("max.dim", write.literal(torch.tensor(1.0)), 0)
    assert not select_the_same(case, [torch.ones(1)], torch.tensor(1), torch.tensor(0), ["self", "dim"])


def test_sorting_names_each_element_once(write: CaseWriter) -> None:
    """Equal elements may come in any order, but none may come twice; not in any order where stability is asked for."""
    row = torch.tensor([2.0, 1.0, 2.0])
    names = ["self", "stable", "dim", "descending"]
    expected = torch.tensor([1, 0, 2])
    for stable, got, right in ((False, [1, 2, 0], True), (False, [1, 0, 0], False), (True, [1, 2, 0], False)):
        write.storages.clear()
        case = write.case("sort.stable", write.literal(row), stable=stable)
        assert right == select_the_same(case, [row], torch.tensor(got), expected, names)


def test_the_number_of_elements_is_no_dimension(write: CaseWriter) -> None:
    """The first number of ``topk`` counts; the dimension is the last one unless given."""
    write.storages.clear()
    case = write.case("topk.default", write.literal(ROWS), 1)
    names = ["self", "k", "dim", "largest", "sorted"]
    flat = [ROWS.flatten()]
    assert select_the_same(case, flat, torch.tensor([[2], [1]]), torch.tensor([[0], [0]]), names)
    assert not select_the_same(case, flat, torch.tensor([[1], [1]]), torch.tensor([[0], [0]]), names)


def test_pooling_counts_within_a_plane(write: CaseWriter) -> None:
    """The index of a maximum counts the elements of the last two dimensions."""
    planes = torch.tensor([[[[1.0, 5.0], [5.0, 0.0]]]])
    case = write.case("max_pool2d_with_indices.default", write.literal(planes), 2)
    flat = [planes.flatten()]
    first = torch.tensor([[[[1]]]])
    assert select_the_same(case, flat, torch.tensor([[[[2]]]]), first, ["self", "kernel_size"])
    assert not select_the_same(case, flat, torch.tensor([[[[0]]]]), first, ["self", "kernel_size"])
