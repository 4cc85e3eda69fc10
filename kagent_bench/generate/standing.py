"""What is to be thought of the kernel that an operator has already: up to date, somebody's own, or replaceable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kagent_bench.generate.attempts import rank, usable
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.stores.kernels import KernelState

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import Problem
    from kagent_bench.model.kernel import Kernel, Provenance
    from kagent_bench.stores.kernels import KernelStore

VERDICT = "verdict"
"""Key among a provenance's details that holds the evaluator's word on the kernel, None if it was not asked."""
_NOTHING = -1
"""Rank of no kernel, and of one that nothing speaks for: anything is better or as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The kernel that is there before a generation."""

    kernel: Kernel | None
    state: KernelState
    provenance: Provenance | None
    """What describes the kernel, if it still does."""
    current: bool
    """Whether it was made for the very problem that is to be solved now."""

    @property
    def verdict(self) -> str | None:
        """The evaluator's word on it at its generation, None if unknown."""
        if self.provenance is None:
            return None
        known = self.provenance.details.get(VERDICT)
        return OperatorVerdict.CORRECT.value if self.verified else str(known) if known else None

    @property
    def verified(self) -> bool:
        """Whether the evaluator accepted it at its generation."""
        return self.provenance is not None and self.provenance.verified

    @property
    def rank(self) -> int:
        """How good a new kernel must be at least to take its place."""
        if self.kernel is None or self.state is KernelState.CUT_OFF:
            return _NOTHING
        if self.state is KernelState.FOREIGN:
            return rank(None)
        if self.current:
            return rank(self.verdict)
        # Made for another version of the problem: its verdict no longer counts for much.
        return rank(None) if self.verified else _NOTHING

    def made_by(self, generator: str, version: str) -> bool:
        """Return whether this generator would be given the same problem again."""
        made = self.provenance
        return (
            self.current
            and made is not None
            and (generator, version) == (made.generator, made.generator_version)
        )

    @property
    def usable(self) -> bool:
        """Whether it is not known to be wrong."""
        return usable(self.verdict)


def examine(store: KernelStore, problem: Problem) -> Standing:
    """Return what is known of an operator's kernel.

    Raises:
        InputError: the kernels folder cannot be read.
    """
    operator = problem.operator
    state = store.state(operator)
    provenance = store.provenance(operator) if state is KernelState.OURS else None
    return Standing(
        kernel=store.find(operator),
        state=state,
        provenance=provenance,
        current=provenance is not None and provenance.problem_sha256 == problem.sha256,
    )
