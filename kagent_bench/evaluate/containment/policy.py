"""What a candidate may read, write and use up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from kagent_bench.evaluate.containment.environment import clean_environment
from kagent_bench.evaluate.containment.layout import lay_out
from kagent_bench.evaluate.containment.report import Step
from kagent_bench.evaluate.containment.system_paths import (
    base_devices,
    gpu_devices,
    interpreter_paths,
    proc_files,
    system_paths,
    tool_paths,
)

MIB = 1 << 20
DEFAULT_MEMORY_BYTES = 8192 * MIB
DEFAULT_FILE_SIZE_BYTES = 256 * MIB
"""Largest file (and memfd) that a candidate may write; compiled kernels stay far below."""
DEFAULT_SCRATCH_BYTES = 512 * MIB
DEFAULT_MAX_PROCESSES = 512
"""Processes and threads; a CUDA process with a compiler beside it stays below 100."""
DEFAULT_MAX_OPEN_FILES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainmentPolicy:
    """The allow-list of one candidate."""

    scratch: Path
    """Existing absolute folder, the only one that the candidate may write to. In a mount namespace the
    candidate gets a private copy of it, so what it writes there is not seen outside."""
    readable: tuple[Path, ...]
    """Files and folders that may be read and executed."""
    devices: tuple[Path, ...]
    """Device files, or folders of them, that may be read, written and controlled."""
    shared: tuple[Path, ...] = ()
    """Existing files of ``/dev/shm`` that the candidate reads and writes together with their owner. CUDA passes
    memory between processes through ``cuda.shm.*`` files that the exporting process makes there."""
    proc_readable: tuple[Path, ...] = ()
    """Files of ``/proc`` that may be read where no fresh ``/proc`` can be mounted."""
    secrets: tuple[Path, ...] = ()
    """Existing files and folders that must be out of reach; the contained process tries them."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The whole environment of the candidate."""
    cuda: bool = False
    """Whether the candidate uses a GPU: its driver reserves far more address space than it uses."""
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    """Host memory on top of what the process has when it is contained; 0 for no limit."""
    file_size_bytes: int = DEFAULT_FILE_SIZE_BYTES
    scratch_bytes: int = DEFAULT_SCRATCH_BYTES
    """Size of the private scratch; 0 to write to the folder itself, without limit."""
    max_processes: int = DEFAULT_MAX_PROCESSES
    """Processes and threads together."""
    max_open_files: int = DEFAULT_MAX_OPEN_FILES
    without: frozenset[Step] = frozenset()
    """Steps to leave out, because a probe showed that they do harm on this machine."""

    def __post_init__(self) -> None:
        """Refuse paths that would mean another thing inside, or everything.

        Raises:
            ValueError: a path is relative, or the root folder is to be readable.
        """
        for path in (
            self.scratch,
            *self.readable,
            *self.devices,
            *self.shared,
            *self.proc_readable,
            *self.secrets,
        ):
            if not path.is_absolute() or ".." in path.parts:
                msg = f"containment needs absolute paths without '..', not '{path}'"
                raise ValueError(msg)
        if Path("/") in (self.scratch, *self.readable):
            msg = "containment cannot allow '/', which holds every secret"
            raise ValueError(msg)

    @property
    def private_scratch(self) -> bool:
        """Whether the candidate is to get a copy of the scratch folder, of limited size."""
        return self.scratch_bytes > 0 and Step.SCRATCH_LIMIT not in self.without

    def with_scratch(self, scratch: Path, environment: Mapping[str, str]) -> ContainmentPolicy:
        """Return this policy for another candidate's folder and environment."""
        return replace(self, scratch=scratch, environment=environment)


def default_policy(
    scratch: Path,
    *,
    cuda: bool = False,
    readable: tuple[Path, ...] = (),
    secrets: tuple[Path, ...] = (),
    environment: Mapping[str, str] | None = None,
    shared: tuple[Path, ...] = (),
    without: frozenset[Step] = frozenset(),
) -> ContainmentPolicy:
    """Return the policy for a candidate of the running interpreter.

    Args:
        scratch: existing absolute folder of the candidate.
        cuda: whether it uses a GPU.
        readable: further paths that it may read.
        secrets: existing paths that must be out of its reach.
        environment: its environment; None for the allowed part of this process's own, with Triton's interpreter
            unless ``cuda``.
        shared: files of ``/dev/shm`` that it shares with their owner.
        without: steps to leave out.

    Raises:
        ValueError: a path is relative.
    """
    if environment is None:
        environment = clean_environment(scratch, interpret=not cuda, inherited=os.environ)
    allowed = (*system_paths(), *interpreter_paths(), *tool_paths(environment), *readable)
    devices = (*base_devices(), *(gpu_devices() if cuda else ()))
    for paths in (allowed, (*allowed, *devices)):
        lay_out(paths)  # remembered, so that forks need not work it out
    return ContainmentPolicy(
        scratch=scratch,
        readable=allowed,
        devices=devices,
        shared=shared,
        proc_readable=proc_files(),
        secrets=secrets,
        environment=environment,
        cuda=cuda,
        without=without,
    )
