"""Which open files a process keeps."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress

from kagent_bench.evaluate.containment import libc

_LAST = 0x7FFFFFFF
"""Highest file descriptor that there can be."""
_STANDARD = (0, 1, 2)


def _close_range(first: int, last: int) -> None:
    if first > last:
        return
    try:
        libc.syscall(libc.SYS_CLOSE_RANGE, first, last, 0, what="close_range")
    except OSError:  # older than 5.9
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are wanted
            if first <= int(name) <= last:
                with suppress(OSError):
                    os.close(int(name))


def close_all_but(keep: Collection[int]) -> None:
    """Close every descriptor that is not kept; standard streams that are not kept become ``/dev/null``.

    Left closed, the next opened file would become standard output. What is kept is not handed on to started
    programs, standard streams excepted.
    """
    first = max(_STANDARD) + 1
    for descriptor in sorted({item for item in keep if item >= first}):
        _close_range(first, descriptor - 1)
        os.set_inheritable(descriptor, False)  # noqa: FBT003 - takes no keywords
        first = descriptor + 1
    _close_range(first, _LAST)
    missing = [stream for stream in _STANDARD if stream not in keep]
    if missing:
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        for stream in missing:
            os.dup2(null, stream)
        if null not in _STANDARD:
            os.close(null)
