"""How much memory a process and all that it started hold, for a watchdog outside."""

from __future__ import annotations

import os
from pathlib import Path

_OWN_KINDS = ("RssAnon:", "RssShmem:")
"""Memory that the process made. Pages of mapped files are the page cache's, and libraries are shared."""
_KIB = 1024


def _children() -> dict[int, list[int]]:
    """Return the children of every process; a process that ends meanwhile is left out."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are wanted
        if name.isdecimal():
            try:
                stat = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])  # the name before it may contain anything
            children.setdefault(parent, []).append(int(name))
    return children


def descendants(pid: int) -> list[int]:
    """Return a process and all processes below it."""
    children = _children()
    found = [pid]
    for known in found:
        found.extend(children.get(known, ()))
    return found


def _own_bytes(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return sum(int(line.split()[1]) * _KIB for line in status.splitlines() if line.startswith(_OWN_KINDS))


def rss_bytes(pid: int) -> int:
    """Return the resident anonymous and shared memory of a process and its descendants, in bytes.

    Pages that a fork shares with its parent count in both, so compare with the value right after the start. 0 if
    there is no such process. Memory in files of a memory file system that nobody maps is not seen.
    """
    return sum(_own_bytes(item) for item in descendants(pid))
