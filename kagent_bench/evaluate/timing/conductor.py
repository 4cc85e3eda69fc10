"""Timing a case that passed: oracle and candidate take turns on the device, the supervisor holds the outer clock."""

from __future__ import annotations

import math
import secrets
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kagent_bench.evaluate.processes import HelperLost, close_quietly
from kagent_bench.evaluate.timing.suspicion import suspicion
from kagent_bench.model.identity import encode_case
from kagent_bench.model.timing import EVENT_METHOD, CaseTiming

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.evaluate.candidate_process import Candidate
    from kagent_bench.evaluate.processes import Oracle
    from kagent_bench.evaluate.timing.peaks import Peaks
    from kagent_bench.model.case import Case

MOST_BURSTS = 6
"""Bursts until one that is too long is believed."""
LONG_BURST_S = 0.1
"""Duration up to which another burst has twice the calls: what else this process has to do delays each once."""
ROUND_TRIPS = 3
"""Messages from which the burst's share of talking is measured."""
TALKING_SHARE = 0.1
"""Share of a burst that is taken off for talking at most: how long that takes is up to the candidate's process, too."""
LONGEST_CALL_S = 3600.0
"""No sample is longer than the longest deadline; what a process claims beyond is no sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingSettings:
    """What the supervisor needs to know to time cases."""

    peaks: Peaks | None
    """Of the device; None for an unknown one."""
    trace_calls: int = 0
    """Calls whose kernels are traced by the driver; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingOutcome:
    """What timing a case came to."""

    timing: CaseTiming | None = None
    untimed: str = ""
    """Why there is no timing: a reason code, a colon, words."""
    status: str = ""
    """``failed`` or ``rejected`` if the timed calls show that the kernel is not what the judged calls showed."""
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Burst:
    calls: int
    per_call_s: float


class _Ended(Exception):
    """The candidate's part is over; the outcome says how."""

    def __init__(self, outcome: TimingOutcome) -> None:
        super().__init__(outcome.reason or outcome.untimed)
        self.outcome = outcome


class Conductor:
    """Times the cases of one kernel's process."""

    def __init__(self, oracle: Oracle, settings: TimingSettings) -> None:
        """Take the oracle and the run's settings."""
        self._oracle = oracle
        self._settings = settings
        self._chance = secrets.SystemRandom()

    def time_case(
        self, candidate: Candidate, case: Case, deadline: float, *, first_s: float | None
    ) -> TimingOutcome:
        """Time a case that the candidate's process has just passed.

        Args:
            candidate: the process, with this case's arguments still in place.
            case: the case.
            deadline: latest time of ``time.monotonic()``.
            first_s: host time of the first call, stored beside the times.

        Raises:
            Died, TimedOut: the candidate did not answer.
        """
        try:
            return self._time_case(candidate, case, deadline, first_s)
        except _Ended as ended:
            return ended.outcome
        except HelperLost as lost:
            return TimingOutcome(untimed=f"reference_crashed: {lost}")

    def _time_case(
        self, candidate: Candidate, case: Case, deadline: float, first_s: float | None
    ) -> TimingOutcome:
        opened, descriptors = self._oracle.request({"do": "time", "step": "open", "case": encode_case(case)})
        if opened["state"] != "ready":
            return TimingOutcome(untimed=opened["detail"])
        plan = opened["plan"]
        try:
            request = {"time": "open", "invitation": opened["invitation"]}
            self._candidate(candidate, request, deadline, descriptors)
        finally:
            close_quietly(*descriptors)
        turns = self._turns(candidate, plan, deadline)
        burst = self._burst(candidate, plan["burst_calls"], deadline)
        traced = None
        if self._settings.trace_calls:
            request = {"time": "trace", "calls": self._settings.trace_calls}
            traced = self._candidate(candidate, request, deadline).get("kernel_s")
        facts, _ = self._oracle.request(
            {"do": "time", "step": "facts", "trace_calls": self._settings.trace_calls}
        )
        timing = CaseTiming.from_json(
            {
                **facts["facts"],
                "candidate_s": [turn["device_s"] for turn in turns],
                "candidate_host_s": statistics.median(turn["host_s"] for turn in turns),
                "candidate_gauge_s": [turn["gauge_s"] for turn in turns],
                "external_s": burst.per_call_s,
                "external_calls": burst.calls,
                "first_s": first_s,
                "kernel_s": traced if _is_duration(traced) else None,
                **self._peaks(case),
            }
        )
        if timing.method != EVENT_METHOD:
            return TimingOutcome(timing=timing)
        bursts = 1
        # A host that was busy elsewhere makes a burst long; no kernel makes one short.
        while (found := suspicion(timing)) and found[0] == "clock_disagrees" and bursts < MOST_BURSTS:
            is_short = burst.calls * burst.per_call_s < LONG_BURST_S
            burst = self._burst(candidate, burst.calls * (2 if is_short else 1), deadline)
            bursts += 1
            if timing.external_s is None or burst.per_call_s < timing.external_s:
                timing = replace(timing, external_s=burst.per_call_s, external_calls=burst.calls)
        if found:
            return TimingOutcome(timing=timing, status="rejected", reason=found[0], detail=found[1])
        return TimingOutcome(timing=timing)

    def _turns(self, candidate: Candidate, plan: Mapping[str, Any], deadline: float) -> list[dict[str, Any]]:
        """Return the candidate's answers, turn by turn: ``device_s`` of each call, ``host_s``, ``gauge_s``."""
        turns: list[dict[str, Any]] = []
        order = self._order(plan["turns"])
        self._between(None, 0, after=False, before=order[0])
        for turn, reference_first in enumerate(order):
            reply = self._candidate(candidate, {"time": "turn"}, deadline)
            if not _is_turn(reply, plan["calls"]):
                raise _Ended(_rejected("clock_disagrees", "the kernel's process reports times that are none"))
            follows = turn + 1 < len(order)
            # The burst that comes after the last turn gets contents of its own.
            self._between(turn, turn + 1, after=not reference_first, before=follows and order[turn + 1])
            turns.append(reply)
        return turns

    def _between(self, settle: int | None, following: int, *, after: bool, before: bool) -> None:
        """Have the oracle end a turn and prepare the next one.

        Args:
            settle: the turn that ends, None before the first.
            following: the turn that is prepared.
            after: whether the references' turn of the former is still to come.
            before: whether that of the latter comes first.
        """
        request = {"settle": settle, "next": following, "reference_after": after, "reference_before": before}
        answer, _ = self._oracle.request({"do": "time", "step": "between", **request})
        if answer["wrong"]:
            raise _Ended(_rejected("timed_output_wrong", f"a timed call: {answer['wrong']}"))

    def _order(self, turns: int) -> list[bool]:
        """Return of each turn whether the reference goes first: half of them, in random order."""
        order = [turn % 2 == 0 for turn in range(turns)]
        self._chance.shuffle(order)
        return order

    def _burst(self, candidate: Candidate, calls: int, deadline: float) -> _Burst:
        """Time calls that follow each other by this process's clock, the talking taken off."""
        talking = min(self._timed(candidate, 0, deadline) for _ in range(ROUND_TRIPS))
        seconds = self._timed(candidate, calls, deadline)
        answer, _ = self._oracle.request({"do": "time", "step": "burst_done", "calls": calls})
        if answer["wrong"]:
            raise _Ended(_rejected("timed_output_wrong", f"the last of {calls} calls: {answer['wrong']}"))
        return _Burst(calls=calls, per_call_s=(seconds - min(talking, TALKING_SHARE * seconds)) / calls)

    def _timed(self, candidate: Candidate, calls: int, deadline: float) -> float:
        before = time.monotonic()
        self._candidate(candidate, {"time": "burst", "calls": calls}, deadline)
        return time.monotonic() - before

    def _candidate(
        self,
        candidate: Candidate,
        request: dict[str, Any],
        deadline: float,
        descriptors: tuple[int, ...] = (),
    ) -> dict[str, Any]:
        reply = candidate.call(request, descriptors, deadline)
        outcome = reply.get("outcome")
        if outcome == "timed":
            return reply
        detail = str(reply.get("detail", ""))
        if outcome == "untimed":
            raise _Ended(TimingOutcome(untimed=f"cannot_share: {detail}"))
        if reply.get("reason") == "timed_output_wrong":
            raise _Ended(_rejected("timed_output_wrong", detail))
        reason = "device_fault" if reply.get("reason") == "device_fault" else "raised"
        raise _Ended(TimingOutcome(status="failed", reason=reason, detail=detail))

    def _peaks(self, case: Case) -> dict[str, Any]:
        peaks = self._settings.peaks
        if peaks is None:
            return {}
        return {"peak_bytes_per_s": peaks.bytes_per_s, "peak_flops_per_s": peaks.flops(case.dtype)}


def _rejected(reason: str, detail: str) -> TimingOutcome:
    return TimingOutcome(status="rejected", reason=reason, detail=detail)


def _is_turn(reply: Mapping[str, Any], n_calls: int) -> bool:
    device_s, gauge_s = reply.get("device_s"), reply.get("gauge_s")
    return (
        isinstance(device_s, list)
        and len(device_s) == n_calls
        and all(map(_is_duration, [*device_s, reply.get("host_s")]))
        and (gauge_s == 0 or _is_duration(gauge_s))
    )


def _is_duration(value: object) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and math.isfinite(value)
        and 0 < value < LONGEST_CALL_S
    )
