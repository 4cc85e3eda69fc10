"""What a generation did, as values: one outcome for each selected operator."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
"""Version of ``GenerateSummary``'s JSON form."""


class Outcome(str, Enum):
    """How the generation of one operator ended."""

    GENERATED = "generated"
    """There is a new kernel; the evaluator accepted it, or was not asked."""
    UP_TO_DATE = "up_to_date"
    """The kernel was made by this generator for this problem already."""
    KEPT = "kept"
    """The kernel that is there was left alone: somebody's own work, or better than the new one."""
    UNSUPPORTED = "unsupported"
    """The generator does not know this operator."""
    FAILED = "failed"
    """The generator gave up, or the evaluator refused all that it wrote."""
    ERROR = "error"
    """The generator, or the harness around it, raised an exception."""
    TIMEOUT = "timeout"
    """The generator was abandoned at its deadline."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


FINE = frozenset({Outcome.GENERATED, Outcome.UP_TO_DATE, Outcome.KEPT})
"""Outcomes that leave a usable kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedOperator:
    """The outcome of one operator."""

    op_name: str
    outcome: Outcome
    reason: str = ""
    """Reason code where there is one, as the generator's or an evaluator's verdict."""
    detail: str = ""
    """The reason in words."""
    verified: bool = False
    """Whether the evaluator accepted the operator's kernel on the development cases."""
    attempts: int = 0
    """Kernels that were judged this time."""
    duration_s: float = 0.0
    """Time that this operator took this time."""
    kernel_path: str | None = None
    """The operator's kernel file after this, None if there is none."""

    @property
    def ok(self) -> bool:
        """Whether there is a usable kernel."""
        return self.outcome in FINE

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**asdict(self), "outcome": self.outcome.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateSummary:
    """What a generation did."""

    generator: str
    generator_version: str
    base_dir: Path
    operators: tuple[GeneratedOperator, ...]
    """In the selection's order."""
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every selected operator has a usable kernel."""
        return all(item.ok for item in self.operators)

    @property
    def counts(self) -> dict[str, int]:
        """Number of operators by outcome, only outcomes that occurred."""
        found = Counter(item.outcome for item in self.operators)
        return {outcome.value: found[outcome] for outcome in Outcome if found[outcome]}

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that ``--json`` prints."""
        return {
            "schema_version": SCHEMA_VERSION,
            "generator": self.generator,
            "generator_version": self.generator_version,
            "base_dir": str(self.base_dir),
            "ok": self.ok,
            "counts": self.counts,
            "operators": [item.to_json() for item in self.operators],
            "warnings": list(self.warnings),
        }
