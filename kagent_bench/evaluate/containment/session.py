"""The plain Unix state of a candidate: session, signals, environment, working folder."""

from __future__ import annotations

import os
import signal
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.evaluate.containment.policy import ContainmentPolicy

_KEPT_IGNORED = frozenset({signal.SIGPIPE, signal.SIGXFSZ})
"""Python ignores these so that they become exceptions; a candidate's code expects it."""
_UNCATCHABLE = frozenset({signal.SIGKILL, signal.SIGSTOP})
_UMASK = 0o077


def leave_session() -> None:
    """Leave the terminal and the process group: Ctrl-C is for the supervisor, which then kills."""
    with suppress(PermissionError):  # already the leader of a session
        os.setsid()


def reset_signals() -> None:
    """Give every signal its default disposition and block none."""
    for number in signal.valid_signals() - _UNCATCHABLE:
        wanted = signal.SIG_IGN if number in _KEPT_IGNORED else signal.SIG_DFL
        if signal.getsignal(number) is not wanted:
            with suppress(OSError, ValueError):  # the C library keeps two real-time signals for itself
                signal.signal(number, wanted)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def enter_scratch(policy: ContainmentPolicy) -> None:
    """Take on the policy's environment and work in the scratch folder.

    Raises:
        OSError: the scratch folder cannot be entered.
    """
    os.environ.clear()
    os.environ.update(policy.environment)
    os.umask(_UMASK)
    os.chdir(policy.scratch)
    tempfile.tempdir = None
