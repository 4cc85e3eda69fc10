"""The recorded selection: which operators, modules and cases a run is about, and so the denominator of its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.program import Fault, Module


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedCase:
    """A case that a filter left out, and why."""

    case: Case
    reason: str

    def __post_init__(self) -> None:
        """Refuse a skip without a reason.

        Raises:
            ValueError: the reason is empty.
        """
        if not self.reason:
            message = f"case {self.case.id} of {self.case.operator} was skipped without a reason"
            raise ValueError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCases:
    """One selected operator or module with its kept and its skipped cases."""

    operator: ProblemName
    kind: str
    """How the operator can be judged: ``value``, or a named class: ``random``, ``creation``, ``view``,
    ``data_dependent``, ``metadata``; ``module`` for a module."""
    cases: tuple[Case, ...]
    skipped: tuple[SkippedCase, ...] = ()
    module: Module | None = None
    """What a module problem is; None for an operator."""
    fault: Fault | None = None
    """Why a problem file is no problem; there are no cases then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """All selected operators of a suite."""

    suite: str
    suite_sha256: str
    """Hash over the suite's content, so that a changed suite is noticed."""
    operators: tuple[OperatorCases, ...]
    notes: tuple[str, ...] = ()
    """Which data the suite comes from, and what of it could not be used."""
    unread: tuple[str, ...] = ()
    """Lines of its files that could not be read, as ``file:line:column: reason``; the notes count them."""

    @property
    def n_cases(self) -> int:
        """Number of kept cases."""
        return sum(len(item.cases) for item in self.operators)
