"""New namespaces for the calling process, as many as the machine allows."""

from __future__ import annotations

import os
from pathlib import Path

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.report import Ledger, Step

_FLAGS = {
    Step.USER_NAMESPACE: 0x10000000,
    Step.MOUNT_NAMESPACE: 0x00020000,
    Step.PID_NAMESPACE: 0x20000000,
    Step.NETWORK_NAMESPACE: 0x40000000,
    Step.IPC_NAMESPACE: 0x08000000,
    Step.HOSTNAME_NAMESPACE: 0x04000000,
}
"""``CLONE_NEW*`` of each step; the user namespace comes first because it grants the right to the others."""


def _map_identity(uid: int, gid: int) -> None:
    """Keep the own ids as they are, as drivers put them into file names; all others become the overflow id."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _enter_one(step: Step, ledger: Ledger) -> None:
    try:
        libc.unshare(_FLAGS[step])
    except OSError as error:
        ledger.refused(step, error)
    else:
        ledger.applied(step)


def enter_namespaces(wanted: frozenset[Step], ledger: Ledger) -> None:
    """Unshare the wanted namespaces and record each; the process namespace holds from the next fork on.

    A user namespace is tried even for root: outside it, root's descendants keep root's rights over
    everything that is not in a namespace.
    """
    uid, gid = os.geteuid(), os.getegid()
    steps = [step for step in _FLAGS if step in wanted]
    try:
        libc.unshare(sum(_FLAGS[step] for step in steps))
    except OSError:
        for step in steps:
            _enter_one(step, ledger)
    else:
        for step in steps:
            ledger.applied(step)
    if ledger.has(Step.USER_NAMESPACE):
        try:
            _map_identity(uid, gid)
        except OSError as error:
            ledger.applied(Step.USER_NAMESPACE, f"ids are not mapped ({error.strerror})")
