"""The shared memory of one case: inputs between guard bands, then room for the outputs.

The oracle makes it, fills it and reads it; the candidate maps the same pages. Its size is sealed, so that
nobody can shrink it under a reader. The layout follows from the case alone, so both sides compute it.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GUARD_BYTES = 1024
"""Random bytes before and after each input, so that a write outside it shows."""
ALIGNMENT_BYTES = 256
"""Alignment of each region; vectorised loads assume 16, torch's CPU allocator gives 64."""
OUTPUT_SLACK_BYTES = 65536
"""Room for outputs beyond twice the expected bytes, so that a slightly wrong shape can still be reported."""
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Place of one storage in the arena, in bytes."""

    offset: int
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where everything lies, in bytes from the arena's start."""

    regions: tuple[Region, ...]
    input_bytes: int
    """End of the inputs with their guard bands; outputs start here."""
    output_bytes: int
    """Room for outputs."""

    @property
    def n_bytes(self) -> int:
        """Size of the whole arena."""
        return self.input_bytes + self.output_bytes


def plan(storage_bytes: Sequence[int], expected_output_bytes: int) -> Layout:
    """Lay out storages of the given sizes, each aligned and between guard bands."""
    regions = []
    position = 0
    for n_bytes in storage_bytes:
        position = _aligned(position + GUARD_BYTES)
        regions.append(Region(offset=position, n_bytes=n_bytes))
        position += n_bytes + GUARD_BYTES
    return Layout(
        regions=tuple(regions),
        input_bytes=_aligned(position),
        output_bytes=_aligned(2 * expected_output_bytes + OUTPUT_SLACK_BYTES),
    )


class Arena:
    """A sealed, shared, anonymous file and this process's mapping of it."""

    def __init__(self, n_bytes: int) -> None:
        """Make and map an arena of at least so many bytes."""
        self.n_bytes = max(n_bytes, mmap.PAGESIZE)
        self.descriptor = os.memfd_create("kab", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.descriptor, self.n_bytes)
        fcntl.fcntl(self.descriptor, fcntl.F_ADD_SEALS, _SEALS)
        self.memory = mmap.mmap(self.descriptor, self.n_bytes)

    def close(self) -> None:
        """Close; pages stay while a tensor here or a mapping in the candidate still looks at them."""
        os.close(self.descriptor)
        with contextlib.suppress(BufferError):
            self.memory.close()


def _aligned(position: int) -> int:
    return (position + ALIGNMENT_BYTES - 1) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
