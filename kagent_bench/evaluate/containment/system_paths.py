"""The paths that Python, torch, triton, a C compiler and a GPU driver need on this machine.

Answers about installations are remembered, so that a fork need not ask again.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt/rocm",
    "/nix/store",
    "/gnu/store",
    # /etc holds secrets (shadow, keys of services): only what the loader, the compiler and Python ask for.
    "/etc/OpenCL",
    "/etc/alternatives",
    "/etc/group",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/nvidia",
    "/etc/passwd",
    # /sys without the debugging and configuration file systems that hang below it.
    "/sys/bus",
    "/sys/class",
    "/sys/dev",
    "/sys/devices",
    "/sys/kernel/mm",
    "/sys/module",
)
_PROC = (
    "/proc/cpuinfo",
    "/proc/devices",
    "/proc/driver",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/modules",
    "/proc/stat",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/vm",
    "/proc/version",
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_GPU_NAMES = ("nvidia", "kfd", "dri", "dxg")
_PREFIX_PARTS = ("bin", "include", "lib", "lib64", "libexec", "nvvm", "pyvenv.cfg", "share", "targets")
"""Parts of an installation prefix. The prefix as a whole may be a project folder that holds secrets."""
_SITE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_PACKAGES = ("kagent_bench", "torch", "triton", "numpy")
"""Packages that a candidate imports lazily; needed by name where they are not in a site-packages folder."""
_TOOLS = ("cc", "gcc", "clang", "ld", "as", "nvcc", "ptxas")
"""Programs that Triton's launcher is compiled with; some machines have them outside of the system folders."""
_TOOL_PARTS = ("bin", "include", "lib", "lib64", "libexec", "nvvm", "targets", "*-linux*")
"""Parts of a tool's prefix: not ``share``, which in a home folder holds the user's data."""
_TOOL_FOLDERS = ("CUDA_HOME", "CUDA_PATH", "ROCM_PATH")
"""Variables that name the prefix of a toolkit."""


def _existing(paths: Iterable[str]) -> tuple[Path, ...]:
    return tuple(Path(path) for path in dict.fromkeys(paths) if os.path.lexists(path))


@functools.cache
def system_paths() -> tuple[Path, ...]:
    """Return the existing folders and files of the system that may be read."""
    return _existing(_SYSTEM)


def _tool_prefixes(path: str, compiler: str, toolkits: Iterable[str]) -> Iterator[Path]:
    yield from map(Path, toolkits)
    for name in (*_TOOLS, compiler):
        found = shutil.which(name, path=path) if name else None
        if found is not None:
            yield from (Path(found).absolute().parent.parent, Path(found).resolve().parent.parent)


@functools.cache
def _tool_paths(path: str, compiler: str, toolkits: tuple[str, ...]) -> tuple[Path, ...]:
    prefixes = {
        prefix for prefix in _tool_prefixes(path, compiler, toolkits) if prefix.is_absolute() and prefix.name
    }
    return tuple(
        found
        for prefix in sorted(prefixes)
        if not prefix.is_relative_to("/usr")
        for part in _TOOL_PARTS
        for found in sorted(prefix.glob(part))
    )


def tool_paths(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return where the compilers that an environment leads to are installed, the system's folders left out."""
    toolkits = tuple(environment[name] for name in _TOOL_FOLDERS if environment.get(name))
    return _tool_paths(environment.get("PATH", ""), environment.get("CC", ""), toolkits)


@functools.cache
def proc_files() -> tuple[Path, ...]:
    """Return the files of ``/proc`` that name no process."""
    return _existing(_PROC)


@functools.cache
def base_devices() -> tuple[Path, ...]:
    """Return the harmless devices that every program expects."""
    return _existing(_DEVICES)


def gpu_devices() -> tuple[Path, ...]:
    """Return the devices of all GPUs: which of them is used, the environment says.

    Not remembered: a driver may make some of them when the first process uses a GPU.
    """
    return tuple(sorted(path for path in Path("/dev").iterdir() if path.name.startswith(_GPU_NAMES)))


def cuda_shared_files(pid: int) -> tuple[Path, ...]:
    """Return the files through which a process passes CUDA memory to others.

    The driver makes them when the process exports its first buffer. An importing process that cannot open them fails
    with "mapping of buffer object failed" (driver 580).
    """
    return tuple(sorted(Path("/dev/shm").glob(f"cuda.shm.*.{pid:x}.*")))  # noqa: S108 - the driver's folder


def _interpreter() -> Iterator[str]:
    for prefix in dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)):
        yield from (f"{prefix}/{part}" for part in _PREFIX_PARTS)
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from site.getsitepackages()
    for entry in sys.path:
        if Path(entry).is_absolute() and Path(entry).name in _SITE_FOLDERS:
            yield entry
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        yield from (spec.submodule_search_locations or ()) if spec is not None else ()


@functools.cache
def interpreter_paths() -> tuple[Path, ...]:
    """Return what the running interpreter and the candidates' packages are made of.

    An entry of ``sys.path`` that is no site-packages folder is not taken as a whole: with an editable
    installation that is the user's checkout, with kernels and results in it.
    """
    return _existing(os.path.normpath(path) for path in _interpreter())
