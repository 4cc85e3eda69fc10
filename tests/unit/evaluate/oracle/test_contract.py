"""The contract of a call apart from its values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.arena import plan
from kagent_bench.evaluate.oracle import contract
from kagent_bench.evaluate.oracle.returned import Leaf
from kagent_bench.evaluate.oracle.semantics import semantics_of
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.finding import Finding
    from tests.unit.evaluate.oracle.conftest import CaseWriter

EXPECTED = torch.zeros(2, 3)
LEAF = Leaf(
    plain=True,
    type_name="Tensor",
    dtype="float32",
    shape=(2, 3),
    stride=(3, 1),
    device="cpu",
    layout="torch.strided",
    region=None,
    offset=0,
    at=0,
    n_bytes=24,
)


def metadata(
    changes: dict[str, Any], expected: torch.Tensor = EXPECTED, aliased: int | None = None
) -> Finding | None:
    """Check a leaf that differs from the expected one as given."""
    return contract.check_metadata(replace(LEAF, **changes), expected, aliased, "cpu", "the output")


def test_the_right_metadata_passes() -> None:
    """Nothing is found, nor are other strides of a fresh output, which are the kernel's own choice."""
    assert None is metadata({})
    assert None is metadata({"stride": (1, 2)})


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"plain": False, "type_name": "Sneaky"}, "type", "the output is a Sneaky"),
        ({"dtype": "float64"}, "dtype", "has dtype float64, expected float32"),
        ({"shape": (1,)}, "shape", "has shape [1], expected [2, 3]"),
        ({"shape": ()}, "shape", "has shape [], expected [2, 3]"),
        ({"shape": (2, 3, 1)}, "shape", "expected [2, 3]"),
        ({"device": "meta"}, "device", "is on meta, expected cpu"),
        ({"layout": "torch.sparse_coo"}, "layout", "torch.sparse_coo"),
        ({"region": 0}, "aliasing", "shares memory with an input"),
    ],
)
def test_wrong_metadata_is_named(changes: dict[str, Any], reason: str, words: str) -> None:
    """Each kind has a reason of its own, and the detail says what was expected."""
    finding = metadata(changes)
    assert finding is not None
    assert reason == finding.reason
    assert words in finding.detail


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "must share memory"),
        ({"region": 1}, "must share memory"),
        ({"region": 0, "offset": 2}, "offset 2"),
        ({"region": 0, "offset": 1, "stride": (1, 2)}, "strides [1, 2]"),
    ],
)
def test_a_view_must_be_that_view(changes: dict[str, Any], words: str) -> None:
    """An output that must alias its input has to look at the same elements of it."""
    expected = torch.zeros(9)[1:7].view(2, 3)
    finding = metadata(changes, expected, 0)
    assert finding is not None
    assert "aliasing" == finding.reason
    assert words in finding.detail
    assert None is metadata({"region": 0, "offset": 1}, expected, 0)


@pytest.mark.parametrize(
    ("value", "got"),
    [
        (torch.zeros(1), "tensor"),
        (None, "none"),
        (3, ("number", 3)),
        (3.0, ("number", 3)),
        (float("nan"), ("number", float("nan"))),
        (True, ("number", True)),
        ((torch.zeros(1), None), ["tensor", "none"]),
        ([torch.zeros(1), [2]], ["tensor", [("number", 2)]]),
    ],
)
def test_the_right_structure_passes(value: object, got: Any) -> None:
    """Lists and tuples are the same; numbers are equal if their values are."""
    assert None is contract.check_structure(got, contract.structure_of(value))


@pytest.mark.parametrize(
    ("value", "got", "words"),
    [
        (torch.zeros(1), "none", "returned None, expected a tensor"),
        (torch.zeros(1), ["tensor"], "returned (a tensor), expected a tensor"),
        ((torch.zeros(1), torch.zeros(1)), "tensor", "returned a tensor, expected (a tensor, a tensor)"),
        ((torch.zeros(1), torch.zeros(1)), ["tensor"], "expected (a tensor, a tensor)"),
        (torch.zeros(1), ("other", "dict"), "returned an object of type dict, expected a tensor"),
        (3, ("number", 4), "returned 4, expected 3"),
        (3, ("number", "3"), "expected 3"),
        (3, ("number", None), "expected 3"),
        (3, ("number", {}), "expected 3"),
        (0.5, ("number", 10**400), "expected 0.5"),
        (3, "tensor", "returned a tensor, expected 3"),
    ],
)
def test_another_structure_is_a_wrong_arity(value: object, got: Any, words: str) -> None:
    """Arity, kinds and numbers must be right, whatever a process puts in their place."""
    finding = contract.check_structure(got, contract.structure_of(value))
    assert finding is not None
    assert "arity" == finding.reason
    assert words in finding.detail


SIZES = st.lists(st.integers(1, 300), min_size=1, max_size=3)


@given(sizes=SIZES, data=st.data())
def test_every_changed_byte_is_found(sizes: list[int], data: st.DataObject) -> None:
    """A byte that changes is either around an input or in it, and is reported as that."""
    layout = plan(sizes, 0)
    before = bytes(layout.input_bytes)
    place = data.draw(st.integers(0, layout.input_bytes - 1))
    after = bytearray(before)
    after[place] = 1
    names = [f"argument '{index}'" for index in range(len(sizes))]
    owner = next(
        (
            index
            for index, region in enumerate(layout.regions)
            if region.offset <= place < region.offset + region.n_bytes
        ),
        None,
    )
    guards = contract.check_guards(before, bytes(after), layout, names)
    inputs = contract.check_unchanged(before, bytes(after), layout, names, frozenset())
    if owner is None:
        assert guards is not None
        assert "out_of_bounds_write" == guards.reason
        assert None is inputs
        return
    assert None is guards
    assert inputs is not None
    assert ("mutated_input", True) == (inputs.reason, names[owner] in inputs.detail)
    assert None is contract.check_unchanged(before, bytes(after), layout, names, frozenset({owner}))


def test_the_schema_says_what_may_be_written(write: CaseWriter) -> None:
    """In-place and out= overloads write the arguments that their schema marks, and no others."""
    left, right = write.tensor(3), write.tensor(3)
    case = write.case("add_.Tensor", left, right)
    semantics = semantics_of(OperatorName.parse("add_.Tensor"))
    assert frozenset({0}) == contract.written_storages(case, semantics, ["self", "other", "alpha"])
    out = write.case("add.out", left, right, out=write.tensor(3))
    semantics = semantics_of(OperatorName.parse("add.out"))
    assert frozenset({2}) == contract.written_storages(out, semantics, ["self", "other", "alpha", "out"])


def test_arguments_are_named_as_the_schema_does(write: CaseWriter) -> None:
    """Tensors in lists have an index; two arguments with one storage are named together."""
    tensor = write.tensor(3)
    case = write.case("cat.default", (tensor, write.tensor(3)), 0)
    assert ("argument 'tensors[0]'", "argument 'tensors[1]'") == contract.storage_names(case, ["tensors"])
    both = write.case("add.Tensor", tensor, tensor)
    assert "argument 'self' and 'other'" == contract.storage_names(both, ["self", "other"])[0]
