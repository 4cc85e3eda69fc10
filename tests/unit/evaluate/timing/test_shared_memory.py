"""Memory that two processes see."""

from __future__ import annotations

import os

import pytest
import torch

from kagent_bench.evaluate.timing.shared_memory import BufferPool, allocate, open_shared

CPU = torch.device("cpu")


def test_both_sides_see_the_same_bytes() -> None:
    """What one writes the other reads."""
    made = allocate(4096, CPU)
    assert made.descriptor is not None
    opened = open_shared(4096, CPU, handle="", descriptor=os.dup(made.descriptor))
    made.flat[7] = 42
    assert 42 == int(opened.flat[7])
    opened.flat[8] = 43
    assert 43 == int(made.flat[8])
    made.close()
    assert 42 == int(opened.flat[7])


def test_nobody_can_shrink_it() -> None:
    """A reader is not pulled the ground from under it."""
    made = allocate(4096, CPU)
    assert made.descriptor is not None
    with pytest.raises(PermissionError):
        os.ftruncate(made.descriptor, 0)
    made.close()


def test_a_pool_keeps_what_is_large_enough() -> None:
    """The same buffer while it suffices, a numbered other one when it does not."""
    pool = BufferPool(CPU)
    first = pool.buffer("inputs", 5000)
    assert first is pool.buffer("inputs", 8192)
    second = pool.buffer("inputs", 8193)
    assert second is not first
    assert first.number != second.number
    assert second is not pool.buffer("outputs", 10)
    assert second.n_bytes <= pool.n_bytes
    pool.close()
    assert 0 == pool.n_bytes
