"""The report of containment."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.containment.report import ContainmentReport, Ledger, Step, StepResult, StepState

_RESULTS = st.builds(
    StepResult, step=st.sampled_from(Step), state=st.sampled_from(StepState), reason=st.text(min_size=1)
)
_REPORTS = st.builds(
    ContainmentReport,
    steps=st.lists(_RESULTS, max_size=6).map(tuple),
    secrecy=st.booleans(),
    secrecy_reason=st.text(),
    duration_s=st.floats(min_value=0, max_value=10),
)


@given(_REPORTS)
def test_json_holds_the_whole_report(report: ContainmentReport) -> None:
    """A report survives being written as JSON and read again."""
    assert report == ContainmentReport.from_json(json.loads(json.dumps(report.to_json())))


def test_a_refusal_needs_a_reason() -> None:
    """A refused step without a reason does not construct."""
    with pytest.raises(ValueError, match="without a reason"):
        StepResult(step=Step.FILE_VIEW, state=StepState.REFUSED)


def test_a_ledger_keeps_the_last_word_in_the_order_of_the_steps() -> None:
    """A step that is recorded again is replaced; results come in the order of the steps, not of the calls."""
    ledger = Ledger()
    ledger.applied(Step.LANDLOCK_TCP)
    ledger.applied(Step.MOUNT_NAMESPACE)
    ledger.refused(Step.MOUNT_NAMESPACE, PermissionError(1, "Operation not permitted", "mount /"))
    first, second = ledger.results()
    assert (Step.MOUNT_NAMESPACE, StepState.REFUSED) == (first.step, first.state)
    assert "mount /: Operation not permitted" == first.reason
    assert Step.LANDLOCK_TCP is second.step
    assert not ledger.has(Step.MOUNT_NAMESPACE)


@pytest.mark.parametrize(
    ("step", "strays", "signals"),
    [(Step.PID_NAMESPACE, True, True), (Step.LANDLOCK_SCOPES, False, True), (Step.FILE_VIEW, False, False)],
)
def test_claims_follow_from_steps(step: Step, *, strays: bool, signals: bool) -> None:
    """What ends strays and what keeps signals inside is derived from the steps in force."""
    report = ContainmentReport(steps=(StepResult(step=step, state=StepState.APPLIED),), secrecy=False)
    assert (strays, signals) == (report.strays_die, report.signals_stay_inside)
