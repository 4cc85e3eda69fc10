"""Live arguments to specification and back."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from kagent_bench.model.case import LiteralValues, SymbolSpec
from kagent_bench.suites.recording.replay import materialise
from kagent_bench.suites.recording.specification import Arguments, Unrepresentable, specify


def _replay(arguments: Arguments) -> tuple[Any, ...]:
    args, _ = materialise(arguments.args, arguments.kwargs, arguments.storages, torch.Generator())
    return args


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(0, 4), max_size=3),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64]),
    step=st.integers(1, 3),
    offset=st.integers(0, 5),
    turn=st.booleans(),
)
def test_round_trip_keeps_values_and_layout(
    shape: list[int], dtype: torch.dtype, step: int, offset: int, *, turn: bool
) -> None:
    """A strided view of a larger storage comes back with its elements and strides."""
    stored = [size * step for size in shape]
    numel = torch.Size(stored).numel()
    flat = (torch.arange(numel + offset) % 2 if dtype == torch.bool else torch.arange(numel + offset)).to(
        dtype
    )
    view = flat[offset:].view(stored)[tuple(slice(None, None, step) for _ in shape)]
    tensor = view.movedim(0, -1) if turn and shape else view
    arguments = specify((tensor,), {})
    (back,) = _replay(arguments)
    assert isinstance(back, torch.Tensor)
    assert torch.equal(tensor, back)
    assert (tensor.stride(), tensor.dtype) == (back.stride(), back.dtype)
    if tensor.numel():
        assert (tensor.storage_offset() > 0) == (back.storage_offset() > 0)


def test_a_storage_keeps_only_what_is_used() -> None:
    """A small view of a large storage is small, and its offset stays, small."""
    arguments = specify((torch.zeros(1000)[500:504],), {})
    assert [5] == [storage.numel for storage in arguments.storages]
    assert [1] == [item.tensor.offset for item in arguments.tensors()]


def test_elements_between_those_of_a_view_are_zero() -> None:
    """What memory held there is nobody's business, and recordings repeat."""
    arguments = specify((torch.ones(6, dtype=torch.bool)[::2],), {})
    assert LiteralValues(data=bytes([1, 0, 1, 0, 1])) == arguments.storages[0].rule


def test_arguments_that_share_memory_share_a_storage() -> None:
    """Aliasing survives, also between an argument and the element of a list."""
    whole = torch.arange(6.0)
    arguments = specify((whole, [whole[2:], torch.ones(2)]), {})
    first, (second, other) = _replay(arguments)
    assert len(arguments.storages) == 2
    second.zero_()
    assert [0.0, 1.0, 0.0, 0.0, 0.0, 0.0] == first.tolist()
    assert [1.0, 1.0] == other.tolist()


def test_a_later_write_does_not_reach_the_specification() -> None:
    """Values are copied before an in-place call can change them."""
    tensor = torch.ones(3)
    arguments = specify((tensor,), {})
    tensor.zero_()
    (back,) = _replay(arguments)
    assert torch.equal(torch.ones(3), back)


def test_a_conjugated_view_is_materialised() -> None:
    """A lazy conjugation becomes plain values."""
    lazy = torch.tensor([1 + 2j]).conj()
    (back,) = _replay(specify((lazy,), {}))
    assert isinstance(back, torch.Tensor)
    assert not back.is_conj()
    assert [1 - 2j] == back.tolist()


def test_symbols() -> None:
    """What is neither a number nor a tensor is stored by name; the device is the one under test."""
    args = (torch.float16, torch.strided, torch.channels_last, torch.device("cpu"))
    expected = tuple(
        SymbolSpec(kind=kind, name=name)
        for kind, name in (
            ("dtype", "float16"),
            ("layout", "strided"),
            ("memory_format", "channels_last"),
            ("device", "target"),
        )
    )
    arguments = specify(args, {})
    assert expected == arguments.args
    assert args == _replay(arguments)


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        (torch.ones(2, 2).to_sparse(), "sparse_coo_tensor"),
        (torch.ones(2, device="meta"), "meta_tensor"),
        (torch.Generator(), "generator"),
        (torch.device("meta"), "other_device"),
        (torch.zeros(1 << 17), "too_large"),
        (object(), "object_argument"),
    ],
)
def test_what_a_case_cannot_hold_is_left_out_with_a_reason(argument: object, reason: str) -> None:
    """The reason is a code that can be counted."""
    with pytest.raises(Unrepresentable, match=f"^{reason}$"):
        specify((argument,), {})
