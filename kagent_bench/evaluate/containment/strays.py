"""Ending what a candidate left behind where no process namespace does it.

The server becomes the parent of orphans of its descendants, so a stray cannot leave the family by ending its parent,
nor by a new session. A stray that forks faster than it is killed is a race that only a process namespace wins.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.memory import descendants

_ROUNDS = 50
"""Rounds of stopping and killing before giving up; each catches what was forked during the one before."""


def adopt_strays() -> None:
    """Become the parent of every orphan below this process, for good. To be called once by the server.

    Raises:
        OSError: the kernel refused.
    """
    libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1, what="PR_SET_CHILD_SUBREAPER")


def end_strays(spared: Collection[int] = ()) -> bool:
    """Kill and reap all processes below this one, but for some and what is below them.

    Args:
        spared: children that go on.

    Returns:
        Whether none is left.
    """
    for _ in range(_ROUNDS):
        kept = {os.getpid()}.union(*(descendants(pid) for pid in spared))
        strays = [pid for pid in descendants(os.getpid()) if pid not in kept]
        if not strays:
            return True
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped ones fork no more while others are killed
            for pid in strays:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        for pid in strays:
            with suppress(ChildProcessError):  # a grandchild becomes a child when its parent is reaped
                os.waitpid(pid, 0)
    return False
