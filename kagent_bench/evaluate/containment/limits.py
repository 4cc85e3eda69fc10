"""Bounds on what a candidate may use up; each holds for root too, or is reported as refused."""

from __future__ import annotations

import errno
import os
import re
import resource
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.evaluate.containment.report import Ledger, Step

if TYPE_CHECKING:
    from kagent_bench.evaluate.containment.policy import ContainmentPolicy

_PID_MAX = Path("/proc/sys/kernel/pid_max")
_PID_MAX_MINIMUM = 301
"""The kernel reserves 300 numbers (``RESERVED_PIDS``); lower maxima are refused."""
_PID_MAX_PER_CPU = 8
"""``PIDS_PER_CPU_MIN``: on machines with many cores the lowest maximum is this many per core."""
_PID_MAX_TRIED = 1 << 15
"""The usual maximum of a whole machine; above it there is no limit worth the name."""
_PID_MAX_PER_NAMESPACE = (6, 14)
"""Linux version from which each process namespace has its own maximum; before, it is the machine's."""
_NPROC_PER_NAMESPACE = (5, 14)
"""Linux version from which RLIMIT_NPROC counts per user namespace and not per user of the machine."""
_WORST_OOM_SCORE = "1000"
_ROOT = 0


def kernel_version(release: str) -> tuple[int, int]:
    """Return the two leading numbers of a kernel release, zeros if there are none."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def limit_processes_in_namespace(policy: ContainmentPolicy, ledger: Ledger) -> None:
    """Bound the process numbers of a fresh process namespace; binds root, and threads too.

    To be called by the namespace's first process while it has its capabilities and a fresh ``/proc``.
    """
    if kernel_version(os.uname().release) < _PID_MAX_PER_NAMESPACE or not ledger.has(Step.FRESH_PROC):
        return
    maximum = max(policy.max_processes, _PID_MAX_MINIMUM, _PID_MAX_PER_CPU * (os.cpu_count() or 1))
    while True:
        try:
            _PID_MAX.write_text(str(maximum))
        except OSError as error:
            # The kernel counts processors that could be plugged in, so its minimum may be higher than known here.
            if error.errno != errno.EINVAL or maximum >= _PID_MAX_TRIED:
                ledger.refused(Step.PROCESS_LIMIT, error)
                return
            maximum *= 2
        else:
            ledger.applied(Step.PROCESS_LIMIT, f"pid_max {maximum} in the namespace")
            return


def _limit(kind: int, value: int) -> None:
    """Lower both limits; a hard limit that is lower already stays."""
    _, hard = resource.getrlimit(kind)
    bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (bound, bound))


def _limit_processes(policy: ContainmentPolicy, user: int, ledger: Ledger) -> None:
    """Set RLIMIT_NPROC where it counts this candidate only; it never binds root."""
    own_count = ledger.has(Step.USER_NAMESPACE) and (
        kernel_version(os.uname().release) >= _NPROC_PER_NAMESPACE
    )
    if own_count and user != _ROOT:
        _limit(resource.RLIMIT_NPROC, policy.max_processes)
        if not ledger.has(Step.PROCESS_LIMIT):
            ledger.applied(Step.PROCESS_LIMIT, f"RLIMIT_NPROC {policy.max_processes}")
    elif not ledger.has(Step.PROCESS_LIMIT):
        who = "root" if user == _ROOT else "a user outside a namespace of his own"
        ledger.refused(Step.PROCESS_LIMIT, f"nothing bounds the processes of {who} on this kernel")


def _limit_memory(policy: ContainmentPolicy, ledger: Ledger) -> None:
    """Bound the address space, or for a GPU only private writable memory: drivers reserve terabytes."""
    if not policy.memory_bytes or Step.MEMORY_LIMIT in policy.without:
        ledger.off([Step.MEMORY_LIMIT])
        return
    kind, column, name = (
        (resource.RLIMIT_DATA, _DATA_COLUMN, "RLIMIT_DATA")
        if policy.cuda
        else (resource.RLIMIT_AS, _SIZE_COLUMN, "RLIMIT_AS")
    )
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[column])
        _limit(kind, pages * resource.getpagesize() + policy.memory_bytes)
    except OSError as error:
        ledger.refused(Step.MEMORY_LIMIT, error)
    else:
        ledger.applied(Step.MEMORY_LIMIT, f"{name}, per process")


_SIZE_COLUMN = 0
_DATA_COLUMN = 5
"""Columns of ``/proc/<pid>/statm``: all mappings, and private writable ones with the stack, in pages."""


def apply_limits(policy: ContainmentPolicy, user: int, ledger: Ledger) -> None:
    """Set the limits of the calling process, which its descendants inherit.

    Args:
        policy: the limits.
        user: effective user id outside of any user namespace.
        ledger: where the steps are recorded.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, policy.max_open_files)
    _limit(resource.RLIMIT_MSGQUEUE, 0)
    if Step.FILE_SIZE_LIMIT not in policy.without:
        _limit(resource.RLIMIT_FSIZE, policy.file_size_bytes)
        ledger.applied(Step.FILE_SIZE_LIMIT)
    if Step.PROCESS_LIMIT not in policy.without:
        _limit_processes(policy, user, ledger)
    _limit_memory(policy, ledger)
    with suppress(OSError):  # if memory runs out, the candidate is to go, not the supervisor
        Path("/proc/self/oom_score_adj").write_text(_WORST_OOM_SCORE)
