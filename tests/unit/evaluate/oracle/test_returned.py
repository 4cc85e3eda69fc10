"""Descriptions of outputs are read with suspicion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.arena import Arena, Layout, plan
from kagent_bench.evaluate.oracle.returned import Unreadable, read_leaf, read_tensor, structure

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYOUT = plan([64, 0], 256)
OUTPUT = LAYOUT.input_bytes
HONEST: dict[str, Any] = {
    "plain": True,
    "type": "Tensor",
    "dtype": "float32",
    "shape": [2, 3],
    "stride": [3, 1],
    "device": "cpu",
    "layout": "torch.strided",
    "region": None,
    "offset": 0,
    "at": OUTPUT,
    "bytes": 24,
}
JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    """Return an arena of the layout, with the numbers 0 to 5 as its output."""
    made = Arena(LAYOUT.n_bytes)
    made.memory[OUTPUT : OUTPUT + 24] = torch.arange(6.0).numpy().tobytes()
    yield made
    made.close()


def test_an_honest_description_is_read(arena: Arena) -> None:
    """Elements come back in shape and stride."""
    leaf = read_leaf(HONEST, LAYOUT)
    assert torch.equal(torch.arange(6.0).view(2, 3), read_tensor(leaf, arena))
    turned = read_leaf(HONEST | {"shape": [3, 2], "stride": [1, 3]}, LAYOUT)
    assert torch.equal(torch.arange(6.0).view(2, 3).t(), read_tensor(turned, arena))


def test_what_is_read_is_a_private_copy(arena: Arena) -> None:
    """A process that goes on writing changes nothing that was read."""
    tensor = read_tensor(read_leaf(HONEST, LAYOUT), arena)
    before = arena.memory[OUTPUT : OUTPUT + 4]
    arena.memory[OUTPUT : OUTPUT + 4] = b"\xff" * 4
    assert 0.0 == tensor[0, 0]
    arena.memory[OUTPUT : OUTPUT + 4] = before


@pytest.mark.parametrize(
    "change",
    [
        {"at": OUTPUT - 1},
        {"at": 0},
        {"at": -1},
        {"at": LAYOUT.n_bytes - 23},
        {"bytes": LAYOUT.n_bytes},
        {"bytes": 23},
        {"bytes": -1},
        {"bytes": 1 << 60},
        {"offset": 1},
        {"offset": -1},
        {"shape": [1 << 40, 3]},
        {"shape": [2, -3]},
        {"shape": [2, 3.0]},
        {"shape": [True, 3]},
        {"shape": "23"},
        {"shape": [1] * 65, "stride": [0] * 65},
        {"shape": [2]},
        {"shape": [2, 3, 1]},
        {"stride": [3]},
        {"stride": [-3, 1]},
        {"stride": [1 << 40, 1]},
        {"dtype": "float128"},
        {"dtype": "nn"},
        {"dtype": "float64"},
        {"dtype": ["float32"]},
        {"region": 0},
        {"region": 2, "at": LAYOUT.regions[0].offset, "bytes": 64},
        {"region": 0, "at": LAYOUT.regions[0].offset, "bytes": 65},
        {"region": 0, "at": LAYOUT.regions[0].offset, "bytes": 64, "offset": 11},
        {"region": True},
    ],
    ids=str,
)
def test_a_lie_is_unreadable(arena: Arena, change: dict[str, Any]) -> None:
    """Whatever contradicts the arena or itself is refused before memory is touched."""
    with pytest.raises(Unreadable):
        read_tensor(read_leaf(HONEST | change, LAYOUT), arena)


@pytest.mark.parametrize("missing", HONEST)
def test_a_part_that_is_missing_is_unreadable(missing: str) -> None:
    """There are no defaults for what a process does not say."""
    with pytest.raises(Unreadable):
        read_leaf({key: value for key, value in HONEST.items() if key != missing}, LAYOUT)


@pytest.mark.parametrize("data", [None, 1, "leaf", [], ["plain"]])
def test_what_is_no_description_is_unreadable(data: Any) -> None:
    """Something other than an object is refused too."""
    with pytest.raises(Unreadable):
        read_leaf(data, LAYOUT)


@given(changes=st.dictionaries(st.sampled_from(sorted(HONEST)), JSON_LIKE, max_size=4))
def test_no_description_brings_the_reader_down(changes: dict[str, Any]) -> None:
    """Any JSON in any place is either read, within the arena, or unreadable."""
    made = Arena(LAYOUT.n_bytes)
    try:
        leaf = read_leaf(HONEST | changes, LAYOUT)
        tensor = read_tensor(leaf, made)
    except Unreadable:
        return
    finally:
        made.close()
    assert leaf.shape == tuple(tensor.shape)


SIZES = st.integers(0, 1 << 50) | st.integers(0, 100)


@given(
    shape=st.lists(SIZES, max_size=4),
    stride=st.lists(SIZES, max_size=4),
    offset=SIZES,
    at=SIZES,
    n_bytes=SIZES,
    dtype=st.sampled_from(["float32", "bool", "complex128", "float8_e5m2"]),
    region=st.none() | st.integers(0, 2),
)
def test_no_numbers_bring_the_reader_down(
    shape: list[int], stride: list[int], offset: int, at: int, n_bytes: int, dtype: str, region: int | None
) -> None:
    """Sizes, strides and places of any size are read within the arena or not at all."""
    numbers = {"shape": shape, "stride": stride, "offset": offset, "at": at, "bytes": n_bytes}
    made = Arena(LAYOUT.n_bytes)
    try:
        read_tensor(read_leaf(HONEST | numbers | {"dtype": dtype, "region": region}, LAYOUT), made)
    except Unreadable:
        return
    finally:
        made.close()
    assert 0 in shape or at + n_bytes <= LAYOUT.n_bytes


@given(tree=JSON_LIKE)
def test_no_nesting_brings_the_reader_down(tree: Any) -> None:
    """A described value is a structure or unreadable."""
    try:
        found = structure(tree)
    except Unreadable:
        return
    assert found in {"tensor", "none"} or isinstance(found, list | tuple)


def test_nesting_without_end_is_unreadable() -> None:
    """A process cannot make the reader run out of stack."""
    tree: dict[str, Any] = {"tensor": 0}
    for _ in range(5000):
        tree = {"sequence": [tree]}
    with pytest.raises(Unreadable):
        structure(tree)


def test_structures() -> None:
    """Tensors, None, numbers, sequences and anything else are told apart."""
    tree = {"sequence": [{"tensor": 0}, {"none": True}, {"number": 3}, {"other": "Widget"}]}
    assert ["tensor", "none", ("number", 3), ("other", "Widget")] == structure(tree)


def test_a_layout_without_inputs_has_no_regions() -> None:
    """An operator without tensor arguments has nothing to alias."""
    layout: Layout = plan([], 8)
    with pytest.raises(Unreadable):
        read_leaf(HONEST | {"region": 0, "at": 0, "bytes": 0}, layout)
