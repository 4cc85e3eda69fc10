"""What torch's own profiler records of a call: every operator, in all threads, also below the dispatch mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

MOST_NAMES = 256
"""Operators that are told of."""


@contextmanager
def record_operators() -> Iterator[list[str]]:
    """Record meanwhile; the list holds the names (``aten::relu``), each once, when that is over."""
    names: list[str] = []
    everywhere = _ExperimentalConfig(profile_all_threads=True)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=everywhere) as recorded:
        yield names
    names += sorted({event.name for event in recorded.events() or ()})[:MOST_NAMES]
