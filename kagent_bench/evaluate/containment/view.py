"""A file system that holds the allowed paths and nothing else, in the calling process's mount namespace.

A new root is put together from bind mounts and entered with ``pivot_root``, so that a path which is not
allowed does not exist. This is the second wall beside Landlock: each of them works where the other is missing.
Paths keep their names; symbolic links on the way to them are made again.
"""

# ruff: noqa: PTH102, PTH103, PTH120, PTH211
# Plain strings: this runs in every fork, where each touched object costs a page.

from __future__ import annotations

import os
import shutil
import stat
from typing import TYPE_CHECKING

from kagent_bench.evaluate.containment import libc
from kagent_bench.evaluate.containment.layout import follow, lay_out

if TYPE_CHECKING:
    from kagent_bench.evaluate.containment.policy import ContainmentPolicy

_STAGE = ".root"
_SKELETON_OPTIONS = "size=4m,mode=0755"
"""The new root holds only mount points and links."""
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the name that the C library uses, mounted anew
_LINKS = {
    "/dev/fd": "/proc/self/fd",
    "/dev/stdin": "/proc/self/fd/0",
    "/dev/stdout": "/proc/self/fd/1",
    "/dev/stderr": "/proc/self/fd/2",
}
_PROC = "/proc"
_PROC_FLAGS = libc.MS_NOSUID | libc.MS_NODEV | libc.MS_NOEXEC
_GUARDED_PROC = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi")
"""Parts of ``/proc`` that act on the whole machine and that root may write even without capabilities."""


def mount_proc() -> None:
    """Mount a ``/proc`` of the current process namespace.

    Raises:
        OSError: the kernel refused, for example because a container hides parts of its own ``/proc``.
    """
    libc.mount("proc", _PROC, "proc", _PROC_FLAGS)


def guard_proc() -> None:
    """Make the parts of a fresh ``/proc`` read-only that act on the whole machine.

    Raises:
        OSError: the kernel refused.
    """
    for name in _GUARDED_PROC:
        path = f"{_PROC}/{name}"
        if os.path.lexists(path):
            libc.mount(path, path, None, libc.MS_BIND)
            libc.mount(None, path, None, libc.MS_BIND | libc.MS_REMOUNT | libc.MS_RDONLY | _PROC_FLAGS)


def _mount_memory(target: str, size_bytes: int) -> None:
    options = f"size={size_bytes},mode=0700" if size_bytes else "mode=0700"
    libc.mount("tmpfs", target, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, options)


def _copy_scratch(source: str, target: str) -> None:
    """Copy the regular files of a small folder; links are not followed."""
    for entry in os.scandir(source):
        if entry.name == _STAGE:
            continue
        if entry.is_dir(follow_symlinks=False):
            os.mkdir(f"{target}/{entry.name}", 0o700)
            _copy_scratch(entry.path, f"{target}/{entry.name}")
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            shutil.copy(entry.path, f"{target}/{entry.name}")


def _place_scratch(source: str, target: str, policy: ContainmentPolicy) -> None:
    if policy.private_scratch:
        _mount_memory(target, policy.scratch_bytes)
        _copy_scratch(source, target)
    else:
        libc.mount(source, target, None, libc.MS_BIND)


def _assemble(policy: ContainmentPolicy, root: str) -> None:
    layout = lay_out((*policy.readable, *policy.devices))
    links: dict[str, str] = {}
    scratch = follow(str(policy.scratch), links)
    libc.mount("tmpfs", root, "tmpfs", libc.MS_NOSUID | libc.MS_NODEV, _SKELETON_OPTIONS)
    for path in layout.folders:
        os.mkdir(root + path)
    for path in layout.files:
        os.close(os.open(root + path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    for path in layout.binds:
        libc.mount(path, root + path, None, libc.MS_BIND | libc.MS_REC)
    for path in (_PROC, _SHARED_MEMORY, scratch):
        os.makedirs(root + path, exist_ok=True)
    for path, target in (*layout.links, *links.items(), *_LINKS.items()):
        if not os.path.lexists(root + path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(target, root + path)
    libc.set_mount_attributes(root, libc.MOUNT_ATTR_RDONLY | libc.MOUNT_ATTR_NOSUID)
    libc.mount(_PROC, root + _PROC, None, libc.MS_BIND | libc.MS_REC)
    _mount_memory(root + _SHARED_MEMORY, policy.scratch_bytes)
    for file in map(str, policy.shared):
        os.close(os.open(root + file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        libc.mount(file, root + file, None, libc.MS_BIND)
    _place_scratch(scratch, root + scratch, policy)


def enter_view(policy: ContainmentPolicy) -> None:
    """Replace the root of the calling process's mount namespace by the allowed paths and its fresh ``/proc``.

    Raises:
        OSError: a mount was refused; the old root is still in place.
    """
    folder = os.open(policy.scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        root = str(policy.scratch / _STAGE)
        os.makedirs(root, exist_ok=True)
        try:
            _assemble(policy, root)
            os.chdir(root)
            libc.pivot_root(".", ".")
        except OSError:
            os.chdir("/")
            libc.detach(root)
            raise
        libc.detach(".")
        os.chdir("/")
        os.rmdir(_STAGE, dir_fd=folder)
    finally:
        os.close(folder)
