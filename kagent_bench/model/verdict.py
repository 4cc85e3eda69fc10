"""Statuses of a case, verdicts of an operator, and the one rule that leads from the former to the latter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class CaseStatus(str, Enum):
    """How the judgement of one case ended. Failed, skipped, rejected and not judged are different things."""

    PASSED = "passed"
    FAILED = "failed"
    """The kernel returned something wrong, raised, or cannot be loaded."""
    REJECTED = "rejected"
    """The kernel broke the policy, for example by letting the library compute."""
    CRASHED = "crashed"
    """The kernel's process ended: signal, exit, out of memory."""
    TIMEOUT = "timeout"
    NOT_JUDGED = "not_judged"
    """The case cannot decide: interpreter lacks it, weak, vacuous, unstable reference, metadata only."""
    SKIPPED = "skipped"
    """Left out lawfully: a filter, or too large for this machine."""
    NOT_RUN = "not_run"
    """Given up after repeated crashes or hangs of this kernel; counts as failed."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


class OperatorVerdict(str, Enum):
    """What is said of a kernel as a whole, or of its absence."""

    CRASHED = "crashed"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    INCORRECT = "incorrect"
    CORRECT = "correct"
    NOT_JUDGED = "not_judged"
    SKIPPED = "skipped"
    MISSING = "missing"
    """Selected, but there is no kernel."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


INTERRUPTED = "interrupted"
"""Reason of a case that the run did not come to: it says nothing about the kernel."""
CLAIMED_LIMIT = "interpreter_limit"
"""Reason of a case that was not judged because the kernel itself raised what Triton raises at its limits."""

FINE = frozenset({OperatorVerdict.CORRECT, OperatorVerdict.NOT_JUDGED, OperatorVerdict.SKIPPED})
"""Verdicts that leave the exit code at 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCase:
    """What the verdict rule needs to know of a case."""

    status: CaseStatus
    reason: str
    """Reason code; empty only for a passed case."""
    survivors: frozenset[str] = frozenset()
    """Control outputs (zeros, the input, ...) that also pass on this case; a case without any is strong."""

    def __post_init__(self) -> None:
        """Refuse a status other than passed that gives no reason.

        Raises:
            ValueError: the reason is empty.
        """
        if self.status is not CaseStatus.PASSED and not self.reason:
            message = f"a case that is {self.status} needs a reason"
            raise ValueError(message)


def operator_verdict(cases: Iterable[JudgedCase], *, has_kernel: bool) -> tuple[OperatorVerdict, str]:
    """Return the verdict of an operator and its reason code: the first that applies, in order of severity.

    ``correct`` asks that every judged case passed and that no control output passes all of them: one strong case
    is enough, and so are two of which one fails zeros and the other ones (as for ``any``, whose every single
    result is one or the other). A case that was not judged on the kernel's own word leaves the operator not judged,
    or a kernel could choose its cases; so does one that an interrupted run did not come to.
    """
    cases = list(cases)
    if not has_kernel:
        return OperatorVerdict.MISSING, "no_kernel"
    known = [case for case in cases if (case.status, case.reason) != (CaseStatus.NOT_RUN, INTERRUPTED)]
    first: dict[CaseStatus, str] = {}
    for case in known:
        first.setdefault(case.status, case.reason)
    for status, verdict in _BY_SEVERITY:
        if status in first:
            return verdict, first[status]
    reasons = {case.reason for case in cases if case.status in _WITHOUT_RESULT}
    for reason in (INTERRUPTED, CLAIMED_LIMIT):
        if reason in reasons:
            return OperatorVerdict.NOT_JUDGED, reason
    survivors = [case.survivors for case in known if case.status is CaseStatus.PASSED]
    if survivors:
        weak = frozenset.intersection(*survivors)
        return (OperatorVerdict.NOT_JUDGED, "weak") if weak else (OperatorVerdict.CORRECT, "")
    if CaseStatus.NOT_JUDGED in first:
        return OperatorVerdict.NOT_JUDGED, first[CaseStatus.NOT_JUDGED]
    return OperatorVerdict.SKIPPED, first.get(CaseStatus.SKIPPED, "no_cases")


_WITHOUT_RESULT = (CaseStatus.NOT_RUN, CaseStatus.NOT_JUDGED)

_BY_SEVERITY = (
    (CaseStatus.CRASHED, OperatorVerdict.CRASHED),
    (CaseStatus.TIMEOUT, OperatorVerdict.TIMEOUT),
    (CaseStatus.REJECTED, OperatorVerdict.REJECTED),
    (CaseStatus.FAILED, OperatorVerdict.INCORRECT),
    (CaseStatus.NOT_RUN, OperatorVerdict.INCORRECT),
)
