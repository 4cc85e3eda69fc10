"""The processes around a candidate: a waiter outside its process namespace and an init inside.

The server that forked sees the waiter only, which ends as the candidate does. The first process of a namespace
cannot be the candidate: the kernel shields it from signals that it sends to itself, so an abort would not end
it. The init only holds the namespace open; it is a spawned ``cat`` on a pipe, because another fork of a process
with torch in it costs 6 ms. Its end ends every process of the namespace, and it ends when the waiter does.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
from dataclasses import dataclass

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.descriptors import close_all_but

_CAT = shutil.which("cat", path="/usr/bin:/bin:/run/current-system/sw/bin")
_SIGNAL_BASE = 128
"""Exit codes above it mean a signal by the shell's convention; the last resort if dying by it fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Init:
    """The first process of the namespace."""

    pid: int
    lifeline: int
    """Write end of its pipe: it ends when nobody has this open."""


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends.

    Args:
        parent: the parent's process id as seen from here, 0 if it is outside this process namespace.

    Raises:
        OSError: the kernel refused.
    """
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL, what="PR_SET_PDEATHSIG")
    if os.getppid() != parent:
        os._exit(_SIGNAL_BASE + signal.SIGKILL)  # it ended before the request: nothing would come any more


def end_like(status: int) -> None:
    """End this process in the way that a wait status tells; does not return."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.kill(os.getpid(), number)
        os._exit(_SIGNAL_BASE + number)
    os._exit(os.WEXITSTATUS(status))


def _forked_init(reader: int) -> int:
    """Fork an init where there is no ``cat``."""
    pid = os.fork()
    if pid:
        return pid
    try:
        close_all_but({reader})
        os.read(reader, 1)
    finally:
        os._exit(0)


def _start_init() -> _Init:
    reader, lifeline = os.pipe()
    # A process may trace only those that have no capability beyond its own, and the candidate will have none.
    libc.keep_capability_on_exec(libc.CAP_SYS_ADMIN)
    # Ignored, and inherited as such: orphans of the namespace vanish without anybody waiting for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        if _CAT is None:
            pid = _forked_init(reader)
        else:
            actions = (
                (os.POSIX_SPAWN_DUP2, reader, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            )
            pid = os.posix_spawn(_CAT, ("cat",), {}, file_actions=actions)
    finally:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.close(reader)
    return _Init(pid=pid, lifeline=lifeline)


def _watch(candidate: int, init: _Init) -> None:
    """Wait for the candidate, end its namespace, end in the same way."""
    close_all_but({init.lifeline})
    _, status = os.waitpid(candidate, 0)
    os.kill(init.pid, signal.SIGKILL)
    os.waitpid(init.pid, 0)  # returns when every process of the namespace is gone
    end_like(status)


def fork_into_namespace() -> None:
    """Fork the candidate's process into the new process namespace; return in it.

    The calling process, which must have unshared that namespace, becomes the waiter and does not return.

    Raises:
        OSError: no process can be made.
    """
    init = _start_init()
    pid = os.fork()
    if pid:
        try:
            _watch(pid, init)
        finally:
            os._exit(_SIGNAL_BASE)
    os.close(init.lifeline)
    die_with_parent(0)
