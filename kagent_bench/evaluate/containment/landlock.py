"""Landlock: an allow-list of files, no TCP, no signals or abstract sockets to the outside; needs no privilege.

It says nothing about metadata: mode, owner and times of an own file can be changed wherever it is. The file view
covers that. The numbers are those of ``linux/landlock.h``. Each version of the interface added rights; a right that the
running kernel does not know may not be asked for.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.report import Ledger, Step

_EXECUTE = 1 << 0
_WRITE_FILE = 1 << 1
_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_TRUNCATE = 1 << 14
_IOCTL_DEV = 1 << 15
_FILE_RIGHTS_BY_ABI = ((1, 13), (2, 14), (3, 15), (5, 16))
"""From which interface version on there are how many rights on files."""
_FILE_ONLY = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""Rights that mean something for a path that is no folder."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP_ABI = 4
_TCP_BIND_AND_CONNECT = 0b11
_SCOPE_ABI = 6
_SCOPE_SOCKETS_AND_SIGNALS = 0b11
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_abi() -> int:
    """Return the version of the kernel's Landlock interface, 0 if it has none or is booted without it."""
    try:
        return libc.syscall(libc.SYS_LANDLOCK_CREATE_RULESET, None, 0, _VERSION_FLAG, what="landlock")
    except OSError:
        return 0


def _file_rights(abi: int) -> int:
    count = max(count for since, count in _FILE_RIGHTS_BY_ABI if since <= abi)
    return (1 << count) - 1


def _allow(ruleset: int, paths: Iterable[Path | str], access: int) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                folder = stat.S_ISDIR(os.fstat(opened).st_mode)
                rule = _PathBeneath(access if folder else access & _FILE_ONLY, opened)
                libc.syscall(
                    libc.SYS_LANDLOCK_ADD_RULE,
                    ruleset,
                    _RULE_PATH_BENEATH,
                    ctypes.byref(rule),
                    0,
                    what=f"landlock {path}",
                )
            finally:
                os.close(opened)


def restrict(
    readable: Iterable[Path | str],
    writable: Iterable[Path | str],
    *,
    without: frozenset[Step],
    ledger: Ledger,
) -> None:
    """Restrict the calling process and all its descendants, for good.

    The process must have ``no_new_privs`` set or the right to administer its namespace.

    Args:
        readable: paths that may be read and executed; missing ones are left out.
        writable: paths with every right.
        without: steps to leave out.
        ledger: where the three Landlock steps are recorded.
    """
    abi = landlock_abi()
    wanted = [
        step for step in (Step.LANDLOCK_FILES, Step.LANDLOCK_TCP, Step.LANDLOCK_SCOPES) if step not in without
    ]
    needed = {Step.LANDLOCK_FILES: 1, Step.LANDLOCK_TCP: _TCP_ABI, Step.LANDLOCK_SCOPES: _SCOPE_ABI}
    for step in wanted:
        if abi < needed[step]:
            has = f"has version {abi}" if abi else "has no Landlock"
            ledger.refused(step, f"the kernel {has}, version {needed[step]} is needed")
    possible = [step for step in wanted if abi >= needed[step]]
    if not possible:
        return
    rights = _file_rights(abi)
    request = _Ruleset(
        rights if Step.LANDLOCK_FILES in possible else 0,
        _TCP_BIND_AND_CONNECT if Step.LANDLOCK_TCP in possible else 0,
        _SCOPE_SOCKETS_AND_SIGNALS if Step.LANDLOCK_SCOPES in possible else 0,
    )
    try:
        ruleset = libc.syscall(
            libc.SYS_LANDLOCK_CREATE_RULESET,
            ctypes.byref(request),
            ctypes.sizeof(request),
            0,
            what="landlock",
        )
        try:
            if request.files:
                _allow(ruleset, readable, _READ)
                _allow(ruleset, writable, rights)
            libc.syscall(libc.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, what="landlock")
        finally:
            os.close(ruleset)
    except OSError as error:
        for step in possible:
            ledger.refused(step, error)
    else:
        for step in possible:
            ledger.applied(step, f"interface version {abi}")
