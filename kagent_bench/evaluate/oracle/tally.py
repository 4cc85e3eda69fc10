"""What the rounds of a case add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.compare import Comparison


@dataclass(slots=True, kw_only=True)
class Tally:
    """What the rounds of a case add up to."""

    rounds: int = 0
    dropped: list[str] = field(default_factory=list)
    max_abs_error: float | None = None
    max_rel_error: float | None = None
    nan_count: int | None = None
    tolerance: float | None = None
    backendbench_passed: bool | None = None
    deterministic: bool | None = None
    survivors: set[str] | None = None
    """Controls that no round has told from the right answer yet."""
    launches: int = 0
    calls: set[str] = field(default_factory=set)

    def add(self, comparison: Comparison) -> None:
        """Take in one output of one round."""
        for name in ("max_abs_error", "max_rel_error", "nan_count"):
            value, so_far = getattr(comparison, name), getattr(self, name)
            if value is not None:
                setattr(self, name, value if so_far is None else max(so_far, value))

    def forget_comparison(self) -> None:
        """Drop what was compared: the values turned out to say nothing."""
        self.max_abs_error = self.max_rel_error = self.nan_count = self.backendbench_passed = None
