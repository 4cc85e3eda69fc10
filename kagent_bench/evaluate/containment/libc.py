"""The system calls that containment needs and Python lacks before 3.12, through the C library."""

from __future__ import annotations

import ctypes
import os
import platform

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 1 << 12
MS_REC = 1 << 14
MS_PRIVATE = 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY = 1
MOUNT_ATTR_NOSUID = 2
AT_FDCWD = -100
AT_RECURSIVE = 0x8000

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAP_SYS_ADMIN = 21

# Numbers from 403 on are the same on every architecture; the older one is not.
SYS_CLOSE_RANGE = 436
SYS_MOUNT_SETATTR = 442
SYS_LANDLOCK_CREATE_RULESET = 444
SYS_LANDLOCK_ADD_RULE = 445
SYS_LANDLOCK_RESTRICT_SELF = 446
_SYS_PIVOT_ROOT = {
    "x86_64": 155,
    "aarch64": 41,
    "riscv64": 41,
    "loongarch64": 41,
    "ppc64le": 203,
    "s390x": 217,
}
_MACHINE = platform.machine()

_CAPABILITY_VERSION_3 = 0x20080522


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def syscall(number: int, *arguments: object, what: str) -> int:
    """Make a system call; integers are passed as C longs, everything else as ctypes passes it.

    Raises:
        OSError: the kernel refused; its ``filename`` is ``what``.
    """
    passed = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(int(_LIBC.syscall(ctypes.c_long(number), *passed)), what)


def unshare(flags: int) -> None:
    """Move the calling process into new namespaces.

    Raises:
        OSError: the kernel or its configuration refuses.
    """
    _checked(_LIBC.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount ``source`` on ``target``.

    Raises:
        OSError: the kernel refused.
    """
    result = _LIBC.mount(
        os.fsencode(source) if source is not None else None,
        os.fsencode(target),
        kind.encode() if kind is not None else None,
        ctypes.c_ulong(flags),
        options.encode() if options is not None else None,
    )
    _checked(result, f"mount {target}")


def detach(target: str) -> None:
    """Unmount ``target`` and all below it as soon as nobody uses it.

    Raises:
        OSError: the kernel refused.
    """
    _checked(_LIBC.umount2(os.fsencode(target), ctypes.c_int(MNT_DETACH)), f"umount {target}")


def set_mount_attributes(target: str, attributes: int) -> None:
    """Set attributes (``MOUNT_ATTR_*``) on the mount at ``target`` and on all mounts below it.

    Raises:
        OSError: the kernel refused, or is older than 5.12.
    """
    request = _MountAttributes(attributes, 0, 0, 0)
    syscall(
        SYS_MOUNT_SETATTR,
        AT_FDCWD,
        os.fsencode(target),
        AT_RECURSIVE,
        ctypes.byref(request),
        ctypes.sizeof(request),
        what="mount_setattr",
    )


def pivot_root(new_root: str, put_old: str) -> None:
    """Make ``new_root`` the root of this mount namespace and put the old one at ``put_old``.

    Raises:
        OSError: the kernel refused, or the number of the call is not known for this architecture.
    """
    number = _SYS_PIVOT_ROOT.get(_MACHINE)
    if number is None:
        msg = f"the number of pivot_root is not known on {_MACHINE}"
        raise OSError(msg)
    syscall(number, os.fsencode(new_root), os.fsencode(put_old), what="pivot_root")


def prctl(option: int, value: int, third: int = 0, *, what: str) -> None:
    """Set a property of the calling process.

    Raises:
        OSError: the kernel refused.
    """
    arguments = [ctypes.c_ulong(item) for item in (value, third, 0, 0)]
    _checked(_LIBC.prctl(ctypes.c_int(option), *arguments), what)


def keep_capability_on_exec(capability: int) -> None:
    """Let the programs that this process executes have a capability that it has itself.

    Raises:
        OSError: the process does not have it.
    """
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (
        ctypes.c_uint32 * 6
    )()  # effective, permitted, inheritable; then the same for capabilities 32 to 63
    _checked(_LIBC.capget(ctypes.byref(header), ctypes.byref(sets)), "capget")
    sets[2] |= 1 << capability
    _checked(_LIBC.capset(ctypes.byref(header), ctypes.byref(sets)), "capset")
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, what="PR_CAP_AMBIENT")


def drop_all_capabilities() -> None:
    """Empty the effective, permitted and inheritable capability sets.

    Raises:
        OSError: the kernel refused.
    """
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capset(ctypes.byref(header), ctypes.byref(nothing)), "capset")
