"""Containment of the calling process: namespaces, file view, limits, privileges, Landlock, in this order.

The order is forced: a Landlocked process may not mount, and dropping capabilities ends what a new user
namespace grants. Each step may be refused by the machine; the others are taken all the same and the report says so.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.evaluate.containment.descriptors import close_all_but
from kagent_bench.evaluate.containment.landlock import restrict
from kagent_bench.evaluate.containment.layout import lay_out
from kagent_bench.evaluate.containment.libc import MS_PRIVATE, MS_REC, mount
from kagent_bench.evaluate.containment.limits import apply_limits, limit_processes_in_namespace
from kagent_bench.evaluate.containment.lineage import die_with_parent, fork_into_namespace
from kagent_bench.evaluate.containment.namespaces import enter_namespaces
from kagent_bench.evaluate.containment.privileges import drop_privileges, forbid_nesting
from kagent_bench.evaluate.containment.report import ContainmentReport, Ledger, Step, describe
from kagent_bench.evaluate.containment.secrecy import look_outside, verify
from kagent_bench.evaluate.containment.session import enter_scratch, leave_session, reset_signals
from kagent_bench.evaluate.containment.view import enter_view, guard_proc, mount_proc

if TYPE_CHECKING:
    from kagent_bench.evaluate.containment.policy import ContainmentPolicy

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the C library's folder for named shared memory

_DEVICES = Path("/dev")


def _make_private(ledger: Ledger) -> None:
    """Keep this namespace's mounts out of the machine's."""
    if not ledger.has(Step.MOUNT_NAMESPACE):
        return
    try:
        mount(None, "/", None, MS_REC | MS_PRIVATE)
    except OSError as error:
        ledger.refused(Step.MOUNT_NAMESPACE, error)


def _mount_fresh_proc(policy: ContainmentPolicy, ledger: Ledger) -> None:
    if Step.FRESH_PROC in policy.without:
        return
    if not (ledger.has(Step.MOUNT_NAMESPACE) and ledger.has(Step.PID_NAMESPACE)):
        ledger.refused(Step.FRESH_PROC, "needs a mount and a process namespace")
        return
    try:
        mount_proc()
    except OSError as error:
        ledger.refused(Step.FRESH_PROC, error)
    else:
        ledger.applied(Step.FRESH_PROC)


def _bound_namespace(policy: ContainmentPolicy, ledger: Ledger) -> None:
    """Set what only the first process of the namespaces can set, then lock the switches of ``/proc``."""
    if Step.PROCESS_LIMIT not in policy.without:
        limit_processes_in_namespace(policy, ledger)
    if Step.NO_NESTING not in policy.without:
        forbid_nesting(ledger)
    if ledger.has(Step.FRESH_PROC):
        try:
            guard_proc()
        except OSError as error:
            ledger.applied(
                Step.FRESH_PROC, f"the machine's switches in it are not locked ({describe(error)})"
            )


def _enter_view(policy: ContainmentPolicy, ledger: Ledger) -> None:
    if Step.FILE_VIEW in policy.without:
        pass
    elif not ledger.has(Step.FRESH_PROC):
        ledger.refused(Step.FILE_VIEW, "needs a fresh /proc")
    else:
        try:
            enter_view(policy)
        except OSError as error:
            ledger.refused(Step.FILE_VIEW, error)
        else:
            ledger.applied(Step.FILE_VIEW)
    if not policy.private_scratch:
        ledger.off([Step.SCRATCH_LIMIT])
    elif ledger.has(Step.FILE_VIEW):
        ledger.applied(Step.SCRATCH_LIMIT)
    else:
        ledger.refused(Step.SCRATCH_LIMIT, "needs a file view")


def _restrict_with_landlock(policy: ContainmentPolicy, ledger: Ledger) -> None:
    writable: list[Path | str] = [policy.scratch, *policy.devices, "/proc/self"]
    if policy.cuda or ledger.has(Step.FILE_VIEW):  # in the view it is this candidate's own
        writable.append(_SHARED_MEMORY)
    devices = (_DEVICES,) if ledger.has(Step.FILE_VIEW) else ()  # the view holds the allowed ones only
    proc: tuple[Path, ...] = (Path("/proc"),) if ledger.has(Step.FRESH_PROC) else policy.proc_readable
    restrict(
        (*lay_out(policy.readable).binds, *devices, *proc), writable, without=policy.without, ledger=ledger
    )


def contain(policy: ContainmentPolicy, *, keep_fds: Collection[int] = ()) -> ContainmentReport:
    """Contain the calling process, a fresh single-threaded fork that has not run candidate code.

    Where process namespaces are allowed this forks and returns in the new process only. The calling process stays
    as a waiter that ends as the new one does, by exit code or signal, and whose death ends all. Standard streams that are not kept become ``/dev/null``.

    Args:
        policy: what is allowed.
        keep_fds: descriptors that stay open; they are not handed on to programs that the candidate starts.

    Returns:
        What was achieved. A refused step is no exception: the caller decides what it can do without.

    Raises:
        OSError: a process cannot be made, or the scratch folder is not usable.
    """
    begin = time.monotonic()
    gc.freeze()  # a collection would touch, and so copy, every object of the server
    ledger = Ledger()
    ledger.off(sorted(policy.without))
    outside = look_outside(policy.secrets)
    leave_session()
    reset_signals()
    close_all_but(keep_fds)
    enter_namespaces(frozenset(Step) - policy.without, ledger)
    die_with_parent(outside.parent)
    _make_private(ledger)
    if ledger.has(Step.PID_NAMESPACE):
        fork_into_namespace()
        leave_session()
    _mount_fresh_proc(policy, ledger)
    _bound_namespace(policy, ledger)
    _enter_view(policy, ledger)
    enter_scratch(policy)
    apply_limits(policy, outside.user, ledger)
    drop_privileges(ledger)
    _restrict_with_landlock(policy, ledger)
    reason = verify(outside, ledger)
    return ContainmentReport(
        steps=ledger.results(),
        secrecy=not reason,
        secrecy_reason=reason,
        duration_s=time.monotonic() - begin,
    )
