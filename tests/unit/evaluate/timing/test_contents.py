"""Contents of timed calls."""

from __future__ import annotations

import torch

from kagent_bench.evaluate.timing.contents import Contents
from kagent_bench.model.case import (
    Case,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    TensorSpec,
    UniformValues,
    ValueRule,
)
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName

CPU = torch.device("cpu")
SLOTS = 3


def _case(*storages: tuple[str, ValueRule]) -> Case:
    return make_case(
        operator=OperatorName.parse("add.Tensor"),
        args=tuple(TensorSpec(storage=index, shape=(50,), stride=(1,)) for index in range(len(storages))),
        kwargs=(),
        storages=tuple(StorageSpec(dtype=dtype, numel=50, rule=rule) for dtype, rule in storages),
        dtype="float32",
        origin="test",
    )


def _drawn(contents: Contents, turn: int) -> torch.Tensor:
    flat = torch.zeros(SLOTS * contents.slot_bytes, dtype=torch.uint8)
    contents.draw(flat, SLOTS, turn)
    return flat


def test_no_two_calls_see_the_same() -> None:
    """Slots differ, turns differ, secrets differ; the same again is the same."""
    case = _case(("float32", UniformValues(low=-1, high=1)))
    contents = Contents(case, b"secret", CPU, may_shuffle=True)
    first = _drawn(contents, 0)
    slots = [contents.views(first, slot)[0].view(torch.float32) for slot in range(SLOTS)]
    assert not torch.equal(slots[0], slots[1])
    assert not torch.equal(first, _drawn(contents, 1))
    assert not torch.equal(first, _drawn(Contents(case, b"other", CPU, may_shuffle=True), 0))
    assert torch.equal(first, _drawn(contents, 0))
    assert contents.fresh


def test_values_keep_their_rules() -> None:
    """Ranges, integers, booleans, half precision and complex parts."""
    case = _case(
        ("float16", UniformValues(low=2, high=3)),
        ("int64", IntegerValues(low=5, high=7)),
        ("bool", IntegerValues(low=0, high=1)),
        ("complex64", UniformValues(low=-2, high=-1)),
    )
    contents = Contents(case, b"secret", CPU, may_shuffle=False)
    half, whole, truth, complex_ = contents.views(_drawn(contents, 0), 2)
    assert ((half.view(torch.float16) >= 2) & (half.view(torch.float16) <= 3)).all()
    assert {5, 6, 7} == set(whole.view(torch.int64).tolist())
    assert {False, True} == set(truth.view(torch.bool).tolist())
    parts = torch.view_as_real(complex_.view(torch.complex64))
    assert ((parts >= -2) & (parts <= -1)).all()


def test_literal_elements_stay_where_places_matter() -> None:
    """Indices are the same in every call, and the case says that its contents are fixed."""
    rule = LiteralValues(data=torch.arange(50).numpy().tobytes())
    contents = Contents(_case(("int64", rule)), b"secret", CPU, may_shuffle=False)
    first = contents.views(_drawn(contents, 0), 1)[0].view(torch.int64)
    assert torch.equal(first, torch.arange(50))
    assert not contents.fresh


def test_literal_elements_are_shuffled_where_they_do_not() -> None:
    """An elementwise operator gets the same integers in another order."""
    rule = LiteralValues(data=torch.arange(50).numpy().tobytes())
    contents = Contents(_case(("int64", rule)), b"secret", CPU, may_shuffle=True)
    first = contents.views(_drawn(contents, 0), 1)[0].view(torch.int64)
    assert not torch.equal(first, torch.arange(50))
    assert list(range(50)) == sorted(first.tolist())
    assert contents.fresh
