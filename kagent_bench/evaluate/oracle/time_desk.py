"""The oracle's answers to the supervisor's timing requests: one case at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.oracle.case_timer import CaseTimer, Untimed
from kagent_bench.evaluate.oracle.device_state import device_state
from kagent_bench.evaluate.timing.kernel_trace import kernel_seconds
from kagent_bench.evaluate.timing.shared_memory import BufferPool
from kagent_bench.evaluate.timing.stopwatch import Stopwatch
from kagent_bench.model.identity import decode_case

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case


class TimeDesk:
    """The open case and the device's stopwatch."""

    def __init__(self, settings: OracleSettings) -> None:
        """Take the run's settings; the device is touched at the first request."""
        self._settings = settings
        self._watch: Stopwatch | None = None
        self._floor_s = 0.0
        self._timer: CaseTimer | None = None
        self._pool = BufferPool(torch.device(settings.device))

    def answer(
        self, request: dict[str, Any], operator: Callable[..., Any], semantics: Semantics
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Answer one request: ``open``, ``between``, ``burst_done`` or ``facts``."""
        step = request["step"]
        if step == "open":
            return self._open(decode_case(request["case"]), operator, semantics)
        timer = self._timer
        assert timer is not None
        if step == "between":
            return self._between(timer, request), ()
        if step == "burst_done":
            return {"wrong": timer.check_burst(request["calls"])}, ()
        facts = timer.facts() | {
            "launch_floor_s": self._floor_s,
            "device_state": device_state(torch.device(self._settings.device)),
        }
        if request["trace_calls"]:
            assert self._watch is not None
            facts["reference_kernel_s"] = kernel_seconds(
                timer.eager_call(), self._watch, request["trace_calls"]
            )
        return {"facts": facts}, ()

    def _between(self, timer: CaseTimer, request: dict[str, Any]) -> dict[str, Any]:
        """Do what belongs between two turns of the candidate: end the former one, prepare the next."""
        wrong = None
        if request["settle"] is not None:
            if request["reference_after"]:
                timer.time_references(first=False)
            wrong = timer.check(request["settle"])
        if wrong is None and request["next"] is not None:
            timer.fill(request["next"])
            if request["reference_before"]:
                timer.time_references(first=True)
        return {"wrong": wrong}

    def _open(
        self, case: Case, operator: Callable[..., Any], semantics: Semantics
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        self._timer = None
        device = torch.device(self._settings.device)
        if self._watch is None:
            self._watch = Stopwatch(device)
            self._floor_s = self._watch.floor()
        try:
            self._timer = CaseTimer(case, operator, semantics, self._settings, self._watch, self._pool)
        except Untimed as why:
            return {"state": "untimed", "detail": str(why)}, ()
        except (MemoryError, torch.OutOfMemoryError) as error:
            return {"state": "untimed", "detail": f"too_large: {str(error).splitlines()[0]}"}, ()
        message, descriptors = self._timer.invitation()
        return {"state": "ready", **message}, descriptors

    def close(self) -> None:
        """End the open case and give back what a candidate's process has mapped: the next one gets memory of its own."""
        self._timer = None
        self._pool.close()
