"""Kernels as values: a source file that implements an operator, and where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.model.names import ProblemName


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel file found in a kernel store."""

    operator: ProblemName
    path: Path
    sha256: str
    """Hash of the file's bytes: the kernel's identity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a kernel came from; stored beside it as ``provenance.json``."""

    operator: ProblemName
    sha256: str
    """Hash of the kernel that this describes."""
    generator: str
    generator_version: str
    problem_sha256: str
    """Hash of the problem that the generator was given; a changed problem makes the kernel out of date."""
    created: str
    """UTC time, ISO 8601."""
    verified: bool
    """Whether the evaluator accepted the kernel on the development cases."""
    attempts: int = 1
    duration_s: float = 0.0
    details: dict[str, str | int | float | None] = field(default_factory=dict)
    """What the generator wants to be known: model, route, cost."""
