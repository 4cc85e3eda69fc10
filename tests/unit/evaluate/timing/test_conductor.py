"""The outer clock: what a busy host does to it, and what a candidate can."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from kagent_bench.evaluate.timing.conductor import Conductor, TimingOutcome, TimingSettings
from kagent_bench.evaluate.timing.plan import FEWEST_TURNS
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from tests.timings import timing

if TYPE_CHECKING:
    from kagent_bench.evaluate.candidate_process import Candidate
    from kagent_bench.evaluate.processes import Oracle
    from kagent_bench.model.case import Case

CALLS, CALL_S = 4, 1e-4
BURST_CALLS = 30


class _Oracle:
    """Answers as the oracle does where every output is right; remembers how long the bursts were."""

    def __init__(self) -> None:
        self.bursts: list[int] = []

    def request(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        if request["step"] == "open":
            plan = {"turns": FEWEST_TURNS, "calls": CALLS, "burst_calls": BURST_CALLS}
            return {"state": "ready", "plan": plan, "invitation": {}}, ()
        if request["step"] == "facts":
            facts = timing(CALL_S, CALL_S).to_json()
            own = (
                "candidate_s",
                "candidate_host_s",
                "candidate_gauge_s",
                "external_s",
                "external_calls",
                "first_s",
            )
            return {
                "facts": {name: value for name, value in facts.items() if name not in (*own, "kernel_s")}
            }, ()
        if request["step"] == "burst_done":
            self.bursts.append(request["calls"])
        return {"wrong": None}, ()


class _Candidate:
    """A process whose calls take a while, which may claim less and answer late."""

    def __init__(self, call_s: float, *, late_s: float = 0.0, late_without_calls_s: float = 0.0) -> None:
        self._call_s = call_s
        self._late_s = late_s
        self._late_without_calls_s = late_without_calls_s

    def call(self, request: dict[str, Any], descriptors: tuple[int, ...], deadline: float) -> dict[str, Any]:
        del descriptors, deadline
        if request["time"] == "burst":
            calls = request["calls"]
            time.sleep(calls * self._call_s + (self._late_s if calls else self._late_without_calls_s))
        return {"outcome": "timed", "device_s": [CALL_S] * CALLS, "host_s": 1e-5, "gauge_s": 0}


@pytest.fixture
def case() -> Case:
    """Nothing but a name; the oracle's part is played."""
    return make_case(OperatorName.parse("relu.default"), (), (), (), dtype="float32", origin="direct")


def _timed(oracle: _Oracle, candidate: _Candidate, case: Case) -> TimingOutcome:
    own = Conductor(cast("Oracle", oracle), TimingSettings(peaks=None))
    return own.time_case(cast("Candidate", candidate), case, time.monotonic() + 60.0, first_s=None)


def test_a_host_that_is_busy_elsewhere_is_no_forged_clock(case: Case) -> None:
    """What delays each burst once weighs less in longer ones, which a burst that seems too long is followed by."""
    oracle = _Oracle()
    outcome = _timed(oracle, _Candidate(CALL_S, late_s=6 * BURST_CALLS * CALL_S), case)

    assert ("", "") == (outcome.status, outcome.reason)
    assert outcome.timing is not None
    assert oracle.bursts == sorted(oracle.bursts)
    assert oracle.bursts[-1] >= 8 * oracle.bursts[0]
    assert oracle.bursts[-1] == outcome.timing.external_calls


def test_calls_that_take_longer_than_they_claim_are_told(case: Case) -> None:
    """Four times as long: no burst says otherwise."""
    outcome = _timed(_Oracle(), _Candidate(4 * CALL_S), case)

    assert ("rejected", "clock_disagrees") == (outcome.status, outcome.reason)


def test_messages_that_are_answered_late_hide_no_calls(case: Case) -> None:
    """A process that answers late where there is nothing to do would have that taken off where there is."""
    outcome = _timed(_Oracle(), _Candidate(2 * CALL_S, late_without_calls_s=0.02), case)

    assert ("rejected", "clock_disagrees") == (outcome.status, outcome.reason)
