"""The layout of the shared memory of a case."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.arena import ALIGNMENT_BYTES, GUARD_BYTES, OUTPUT_SLACK_BYTES, Arena, plan

SIZES = st.lists(st.integers(0, 100_000), max_size=6)


@given(sizes=SIZES, expected=st.integers(0, 100_000))
def test_every_input_is_aligned_and_between_guard_bands(sizes: list[int], expected: int) -> None:
    """No two inputs overlap, and a whole guard band lies before, between and after them."""
    layout = plan(sizes, expected)
    assert sizes == [region.n_bytes for region in layout.regions]
    end = 0
    for region in layout.regions:
        assert 0 == region.offset % ALIGNMENT_BYTES
        assert end + GUARD_BYTES <= region.offset
        end = region.offset + region.n_bytes + GUARD_BYTES
    assert end <= layout.input_bytes


@given(sizes=SIZES, expected=st.integers(0, 100_000))
def test_outputs_lie_behind_the_inputs_with_room_to_spare(sizes: list[int], expected: int) -> None:
    """An output of twice the expected size can still be described."""
    layout = plan(sizes, expected)
    assert 0 == layout.input_bytes % ALIGNMENT_BYTES
    assert layout.output_bytes >= 2 * expected + OUTPUT_SLACK_BYTES
    assert layout.n_bytes == layout.input_bytes + layout.output_bytes


def test_the_size_of_an_arena_is_sealed() -> None:
    """Who holds the descriptor can neither shrink nor grow it under a reader."""
    arena = Arena(10_000)
    try:
        for n_bytes in (0, arena.n_bytes - 4096, arena.n_bytes * 2):
            with pytest.raises(PermissionError):
                os.ftruncate(arena.descriptor, n_bytes)
    finally:
        arena.close()


def test_an_arena_is_never_empty() -> None:
    """A case without inputs and outputs has memory all the same."""
    arena = Arena(0)
    assert len(arena.memory) == arena.n_bytes > 0
    arena.close()
