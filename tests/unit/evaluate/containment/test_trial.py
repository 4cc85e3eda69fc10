"""Finding out what containment achieves."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from kagent_bench.errors import HarnessFault
from kagent_bench.evaluate.containment.policy import ContainmentPolicy
from kagent_bench.evaluate.containment.report import ContainmentReport, Step, StepResult, StepState
from kagent_bench.evaluate.containment.trial import harmful_steps, probe

_APPLIED = StepState.APPLIED
_REFUSED = StepState.REFUSED


@pytest.mark.parametrize(
    ("proc", "cuda", "left_out"),
    [
        (_REFUSED, True, frozenset({Step.PID_NAMESPACE})),
        (_REFUSED, False, frozenset()),
        (_APPLIED, True, frozenset()),
    ],
)
def test_a_process_namespace_with_the_old_proc_is_bad_for_cuda(
    proc: StepState, left_out: frozenset[Step], *, cuda: bool
) -> None:
    """Only a GPU candidate is hurt, and only where no fresh /proc can be mounted."""
    steps = (
        StepResult(step=Step.PID_NAMESPACE, state=_APPLIED),
        StepResult(step=Step.FRESH_PROC, state=proc, reason="it may not"),
    )
    assert left_out == harmful_steps(ContainmentReport(steps=steps, secrecy=False), cuda=cuda)


def test_a_probe_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The throwaway folder is gone and every step has a result."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    report = probe()
    assert [] == list(tmp_path.iterdir())
    assert set(Step) == {item.step for item in report.steps}
    assert 0 < report.duration_s < 10


def test_a_probe_that_cannot_run_is_a_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary folder that does not exist is told with a hint, not as a bare OSError."""
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    with pytest.raises(HarnessFault, match="could not be tried"):
        probe()


def test_a_probe_takes_the_steps_that_a_policy_leaves_out(tmp_path: Path) -> None:
    """What the policy leaves out is reported as off."""
    policy = ContainmentPolicy(
        scratch=tmp_path, readable=(Path("/usr"),), devices=(), without=frozenset({Step.NETWORK_NAMESPACE})
    )
    report = probe(policy)
    assert StepState.OFF in {item.state for item in report.steps if item.step is Step.NETWORK_NAMESPACE}
