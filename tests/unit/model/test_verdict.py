"""From the statuses of cases to the verdict of an operator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.verdict import (
    INTERRUPTED,
    CaseStatus,
    JudgedCase,
    OperatorVerdict,
    operator_verdict,
)

PASSED = JudgedCase(status=CaseStatus.PASSED, reason="")


def case(status: CaseStatus, reason: str = "why", survivors: frozenset[str] = frozenset()) -> JudgedCase:
    """Return a judged case."""
    return JudgedCase(
        status=status, reason="" if status is CaseStatus.PASSED else reason, survivors=survivors
    )


CASES = st.builds(
    case, st.sampled_from(CaseStatus), st.text(min_size=1, max_size=4), st.frozensets(st.sampled_from("ab"))
)


@pytest.mark.parametrize("status", [status for status in CaseStatus if status is not CaseStatus.PASSED])
def test_a_case_that_did_not_pass_needs_a_reason(status: CaseStatus) -> None:
    """An unexplained refusal does not construct."""
    with pytest.raises(ValueError, match="needs a reason"):
        JudgedCase(status=status, reason="")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((CaseStatus.FAILED, CaseStatus.REJECTED, CaseStatus.TIMEOUT, CaseStatus.CRASHED), "crashed"),
        ((CaseStatus.FAILED, CaseStatus.REJECTED, CaseStatus.TIMEOUT), "timeout"),
        ((CaseStatus.FAILED, CaseStatus.REJECTED), "rejected"),
        ((CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.NOT_JUDGED), "incorrect"),
        ((CaseStatus.PASSED, CaseStatus.NOT_RUN), "incorrect"),
        ((CaseStatus.PASSED, CaseStatus.NOT_JUDGED, CaseStatus.SKIPPED), "correct"),
        ((CaseStatus.NOT_JUDGED, CaseStatus.SKIPPED), "not_judged"),
        ((CaseStatus.SKIPPED,), "skipped"),
        ((), "skipped"),
    ],
)
def test_the_most_severe_status_decides(statuses: tuple[CaseStatus, ...], expected: str) -> None:
    """The verdict is the first that applies, in order of severity."""
    verdict, _ = operator_verdict([case(status) for status in statuses], has_kernel=True)
    assert expected == verdict.value


def test_what_a_run_did_not_come_to_is_no_fault_of_the_kernel() -> None:
    """An operator with an interrupted case is neither right nor wrong, unless another case was wrong."""
    interrupted = case(CaseStatus.NOT_RUN, INTERRUPTED)
    assert operator_verdict([PASSED, interrupted], has_kernel=True) == (
        OperatorVerdict.NOT_JUDGED,
        INTERRUPTED,
    )
    gave_up = case(CaseStatus.NOT_RUN, "after_crash")
    assert operator_verdict([interrupted, gave_up], has_kernel=True) == (
        OperatorVerdict.INCORRECT,
        "after_crash",
    )


def test_the_reason_is_that_of_the_first_case_of_the_deciding_status() -> None:
    """Cases of less severe statuses do not lend their reason."""
    cases = [case(CaseStatus.FAILED, "values"), case(CaseStatus.CRASHED, "exit_3"), case(CaseStatus.CRASHED)]
    assert (OperatorVerdict.CRASHED, "exit_3") == operator_verdict(cases, has_kernel=True)


def test_an_operator_that_a_control_passes_everywhere_is_not_judged() -> None:
    """A kernel that returns zeros would pass too, so passing proves nothing."""
    weak = case(CaseStatus.PASSED, survivors=frozenset({"zeros", "ones"}))
    also = case(CaseStatus.PASSED, survivors=frozenset({"zeros"}))
    assert (OperatorVerdict.NOT_JUDGED, "weak") == operator_verdict([weak, also], has_kernel=True)


def test_weak_cases_together_can_be_strong() -> None:
    """Zeros pass one case and ones the other: no single control passes both."""
    zeros = case(CaseStatus.PASSED, survivors=frozenset({"zeros"}))
    ones = case(CaseStatus.PASSED, survivors=frozenset({"ones"}))
    assert (OperatorVerdict.CORRECT, "") == operator_verdict([zeros, ones], has_kernel=True)


@given(cases=st.lists(CASES, max_size=6))
def test_without_a_kernel_it_is_missing(cases: list[JudgedCase]) -> None:
    """No record can make up for a kernel that is not there."""
    assert (OperatorVerdict.MISSING, "no_kernel") == operator_verdict(cases, has_kernel=False)


@given(
    cases=st.lists(CASES, max_size=6),
    bad=st.sampled_from(["failed", "crashed", "rejected", "timeout", "not_run"]),
)
def test_one_bad_case_is_enough(cases: list[JudgedCase], bad: str) -> None:
    """Nothing that passes elsewhere makes an operator correct again."""
    verdict, reason = operator_verdict([*cases, case(CaseStatus(bad))], has_kernel=True)
    assert verdict in {
        OperatorVerdict.CRASHED,
        OperatorVerdict.TIMEOUT,
        OperatorVerdict.REJECTED,
        OperatorVerdict.INCORRECT,
    }
    assert reason


@given(cases=st.lists(CASES, max_size=6))
def test_every_verdict_but_correct_gives_a_reason(cases: list[JudgedCase]) -> None:
    """A reader is never left without a why."""
    verdict, reason = operator_verdict(cases, has_kernel=True)
    assert (verdict is OperatorVerdict.CORRECT) is (reason == "")


@given(cases=st.lists(CASES, max_size=6), shift=st.integers(0, 5))
def test_the_order_of_cases_changes_no_verdict(cases: list[JudgedCase], shift: int) -> None:
    """Records may arrive in any order."""
    turned = cases[shift:] + cases[:shift]
    assert operator_verdict(cases, has_kernel=True)[0] is operator_verdict(turned, has_kernel=True)[0]
