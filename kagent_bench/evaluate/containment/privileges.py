"""Giving up every privilege, for good."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.report import Ledger, Step

_CAPABILITIES = 64
"""More than there are; asking for an unknown one ends the loop."""
_NO_ROOT_LOCKED = 0b101111
"""SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and SECBIT_KEEP_CAPS' locks: user id 0 means nothing any more."""
_NESTED_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")


def forbid_nesting(ledger: Ledger) -> None:
    """Forbid further user namespaces below this one: in a new one, the candidate would be privileged again."""
    if not ledger.has(Step.USER_NAMESPACE) or not ledger.has(Step.FRESH_PROC):
        ledger.refused(Step.NO_NESTING, "needs a user namespace and a fresh /proc")
        return
    try:
        _NESTED_NAMESPACES.write_text("0")
    except OSError as error:
        ledger.refused(Step.NO_NESTING, error)
    else:
        ledger.applied(Step.NO_NESTING)


def drop_privileges(ledger: Ledger) -> None:
    """Drop all capabilities and the ways to regain them."""
    # Without CAP_SETPCAP (an unprivileged process) the bounding set cannot shrink: no_new_privs makes up for it.
    with suppress(OSError):
        for capability in range(_CAPABILITIES):
            libc.prctl(libc.PR_CAPBSET_DROP, capability, what="PR_CAPBSET_DROP")
    with suppress(OSError):
        libc.prctl(libc.PR_SET_SECUREBITS, _NO_ROOT_LOCKED, what="PR_SET_SECUREBITS")
    with suppress(OSError):
        libc.prctl(libc.PR_CAP_AMBIENT, libc.PR_CAP_AMBIENT_CLEAR_ALL, what="PR_CAP_AMBIENT")
    try:
        libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1, what="PR_SET_NO_NEW_PRIVS")
        libc.drop_all_capabilities()
    except OSError as error:
        ledger.refused(Step.NO_PRIVILEGES, error)
    else:
        ledger.applied(Step.NO_PRIVILEGES)
