"""The oracle's part in timing a case: contents, the references' turns, and the check of what timed calls returned."""

from __future__ import annotations

import math
import secrets
import statistics
import time
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.rounds import Round
from kagent_bench.evaluate.oracle.targets import Targets
from kagent_bench.evaluate.timing.contents import Contents, lay_out_outputs
from kagent_bench.evaluate.timing.plan import (
    FEWEST_CALLS,
    MOST_SLOTS,
    UNRECORDED_CALLS,
    TimingPlan,
    held,
    plan,
)
from kagent_bench.evaluate.timing.shared_memory import BufferPool, CannotShare, SharedBuffer
from kagent_bench.evaluate.timing.work import count_flops, work_of
from kagent_bench.model.timing import EAGER, EVENT_METHOD, HOST_METHOD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.evaluate.timing.stopwatch import Stopwatch, TurnSamples
    from kagent_bench.model.case import Case

PILOT_CALLS = 6
"""Calls of the reference from which the plan is made."""
MEMORY_SHARE = 0.25
"""Share of the free device memory that contents and outputs of timed calls may take."""
CHECKED_TURNS = 2
"""Turns of which one call's outputs are compared in full; which turns and which calls is drawn in secret."""
FEWEST_SLOTS = UNRECORDED_CALLS + FEWEST_CALLS
COMPILE = "torch-compile"
"""Name of the side that ``torch.compile`` makes of the operator."""


class Untimed(Exception):
    """This case is not timed; the text says why, its first word is a reason code."""


class CaseTimer:
    """The state of one case while it is timed."""

    def __init__(
        self,
        case: Case,
        operator: Callable[..., Any],
        semantics: Semantics,
        settings: OracleSettings,
        watch: Stopwatch,
        pool: BufferPool,
    ) -> None:
        """Prepare contents and sides, run the pilot, make the plan.

        Raises:
            Untimed: this case cannot be timed.
        """
        self._case = case
        self._operator = operator
        self._semantics = semantics
        self._settings = settings
        self._watch = watch
        self._pool = pool
        self._device = torch.device(settings.device)
        self._expected = Targets(case, operator, semantics, settings)
        self._contents = Contents(case, settings.seed, self._device, may_shuffle=semantics.elementwise)
        self.checked = 0
        self.notes: list[str] = [] if self._contents.fresh else ["fixed_contents"]
        self.references: dict[str, list[tuple[float, ...]]] = {}
        self._host: list[float] = []
        self._gauges: list[float] = []
        self._first: list[bool] = []
        self._prepare()

    def _prepare(self) -> None:
        case = self._case
        # Both sides read the same memory: where inputs lie decides about several percent of a short kernel's time.
        self._live = self._share("live", self._contents.slot_bytes)
        self._live_slot = self._live.flat[: self._contents.slot_bytes]
        self._storages = self._typed(self._live.flat, 0)
        self._contents.draw(self._live.flat, 1, -1)
        try:
            outcome = reference.run(self._operator, case, self._storages)
        except reference.ReferenceFailed as error:
            message = f"reference_raises: {error}"
            raise Untimed(message) from error
        if not outcome.leaves or not any(leaf.numel() for leaf in outcome.leaves):
            message = "no_outputs: there is no tensor to compare timed calls by"
            raise Untimed(message)
        self._leaves = [(leaf.dtype, tuple(leaf.shape)) for leaf in outcome.leaves]
        self._output_offsets, self._output_bytes = lay_out_outputs(outcome.leaves)
        args, kwargs = self._arguments()
        flops = count_flops(self._operator, args, kwargs, outcome.value)
        self._work = work_of(case, self._semantics, outcome.leaves, flops)
        del outcome
        most_slots = self._affordable_slots()
        own = torch.empty(self._output_bytes, dtype=torch.uint8, device=self._device)
        self._own_outputs = self._leaves_in(own, 0)
        self._sides = {EAGER: self._operator}
        if COMPILE in self._settings.baselines:
            self._sides[COMPILE] = torch.compile(_plain(self._operator), dynamic=False)
        self.references = {name: [] for name in self._sides}
        self._lay_out_private(min(most_slots, PILOT_CALLS + UNRECORDED_CALLS))
        self.plan = self._plan(most_slots)
        self._lay_out_private(self.plan.slots)
        self._inputs = self._share("inputs", self.plan.slots * self._contents.slot_bytes)
        self._outputs = self._share("outputs", self.plan.slots * self._output_bytes)
        count = min(CHECKED_TURNS, self.plan.turns)
        turns = secrets.SystemRandom().sample(range(self.plan.turns), count)
        self._checks = {turn: UNRECORDED_CALLS + secrets.randbelow(self.plan.calls) for turn in turns}

    def _lay_out_private(self, slots: int) -> None:
        """Make room for contents; what the candidate sees is a copy, so that what it writes there changes nothing."""
        n_bytes = slots * self._contents.slot_bytes
        self._private = torch.empty(n_bytes, dtype=torch.uint8, device=self._device)
        self._slots = self._private.view(slots, self._contents.slot_bytes).unbind()

    def _typed(self, flat: torch.Tensor, slot: int) -> list[torch.Tensor]:
        """Return the case's storages as a slot of a buffer holds them."""
        return [
            view.view(getattr(torch, storage.dtype))
            for view, storage in zip(self._contents.views(flat, slot), self._case.storages, strict=True)
        ]

    def _plan(self, most_slots: int) -> TimingPlan:
        slots = len(self._slots)
        self._contents.draw(self._private, slots, -1)
        for operator in self._sides.values():
            self._turn(operator, FEWEST_CALLS, slots)  # warm-up: compilation, workspaces
        pilot = self._turn(self._operator, PILOT_CALLS, slots)
        self._renewal_s = self._watch.repeated(lambda: self._renew(0), PILOT_CALLS)
        began = time.perf_counter()
        self._renew(0)
        self._renewal_host_s = time.perf_counter() - began
        return plan(
            pilot.device_s,
            call_wall_s=pilot.wall_s,
            input_bytes=self._case.input_bytes,
            n_sides=1 + len(self._sides),
            most_slots=most_slots,
        )

    # --- what the supervisor asks for -------------------------------------------------------------------------

    def invitation(self) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Return what the candidate needs to take part, and descriptors that go with it."""
        leaves = [
            {"offset": offset, "dtype": str(dtype).removeprefix("torch."), "shape": list(shape)}
            for offset, (dtype, shape) in zip(self._output_offsets, self._leaves, strict=True)
        ]
        slots = {"slot_bytes": self._contents.slot_bytes, "offsets": list(self._contents.offsets)}
        message = {
            "live": _described(self._live),
            "inputs": {**_described(self._inputs), **slots},
            "outputs": {**_described(self._outputs), "slot_bytes": self._output_bytes, "leaves": leaves},
            "calls": self.plan.calls,
            "held": held(self._output_bytes),
            "unrecorded": UNRECORDED_CALLS,
        }
        buffers = (self._live, self._inputs, self._outputs)
        descriptors = tuple(buffer.descriptor for buffer in buffers if buffer.descriptor is not None)
        return {"plan": asdict(self.plan), "invitation": message}, descriptors

    def fill(self, turn: int) -> None:
        """Draw the contents of a turn's calls."""
        self._draw_all(self.plan.slots, turn)
        self._synchronize()

    def time_references(self, *, first: bool) -> None:
        """Take the references' turn, before or after the candidate's."""
        self._first.append(first)
        for name, operator in self._sides.items():
            samples = self._turn(operator, self.plan.calls, self.plan.slots)
            self.references[name].append(samples.device_s)
            if name == EAGER:
                self._host.extend(samples.host_s)
        self._gauges.append(self._watch.gauge())

    def check(self, turn: int) -> str | None:
        """Compare one call's outputs of a turn if it was drawn; return what is wrong with them, or None."""
        slot = self._checks.get(turn)
        return None if slot is None else self._compare(slot, slot)

    def check_burst(self, calls: int) -> str | None:
        """Compare the outputs of the burst's last call, which are in the first slot."""
        return self._compare((calls - 1) % self.plan.slots, 0)

    def facts(self) -> dict[str, Any]:
        """Return what the oracle knows of the measurement, as fields of ``model.timing.CaseTiming``."""
        return {
            "method": HOST_METHOD if self._device.type == "cpu" else EVENT_METHOD,
            "references_s": self.references,
            "reference_first": self._first,
            "reference_host_s": statistics.median(self._host),
            "reference_gauge_s": self._gauges,
            "renewal_s": self._renewal_s,
            "renewal_host_s": self._renewal_host_s,
            "checked_calls": self.checked,
            "cache_bytes": self._watch.cache_bytes,
            "notes": self.notes,
            **asdict(self._work),
        }

    def eager_call(self) -> Callable[[], Any]:
        """Return eager's call on contents that were drawn."""
        args, kwargs = self._arguments()
        self._renew(0)
        return lambda: self._operator(*args, **kwargs)

    # --- steps ------------------------------------------------------------------------------------------------

    def _turn(self, operator: Callable[..., Any], calls: int, slots: int) -> TurnSamples:
        args, kwargs = self._arguments()

        def keep(_: int, value: Any) -> None:
            for target, leaf in zip(self._own_outputs, reference.tensors_in(value), strict=False):
                target.copy_(leaf)

        with torch.no_grad():
            return self._watch.turn(
                calls,
                unrecorded=UNRECORDED_CALLS,
                renew=lambda index: self._renew(index % slots),
                call=lambda _: operator(*args, **kwargs),
                keep=keep,
                held=held(self._output_bytes),
            )

    def _arguments(self) -> tuple[list[Any], dict[str, Any]]:
        build = partial(reference.build, storages=self._storages, device=self._device, wide=False)
        return [build(value) for value in self._case.args], {
            name: build(value) for name, value in self._case.kwargs
        }

    def _renew(self, slot: int) -> None:
        self._live_slot.copy_(self._slots[slot])

    def _draw_all(self, slots: int, turn: int) -> None:
        self._contents.draw(self._private, slots, turn)
        n_bytes = slots * self._contents.slot_bytes
        self._inputs.flat[:n_bytes].copy_(self._private[:n_bytes])

    def _compare(self, drawn_slot: int, output_slot: int) -> str | None:
        fresh = self._typed(self._private, drawn_slot)
        eager = reference.run(self._operator, self._case, fresh)
        exact = self._exact(fresh, eager)
        drawn = Round(name="timed", on_device=tuple(fresh), eager=eager, exact=exact)
        self.checked += 1
        start = output_slot * self._output_bytes
        for index, actual in enumerate(self._leaves_in(self._outputs.flat, start)):
            if index == self._semantics.tie_output:
                continue  # the correctness rounds judge indices that ties leave open
            compared = self._expected.output(drawn, index, f"output {index}").expected.compare(actual)
            if not compared.ok:
                return f"output {index}: {compared.detail}"
        return None

    def _leaves_in(self, flat: torch.Tensor, start: int) -> list[torch.Tensor]:
        """Return the outputs as they lie in a buffer from some byte on."""
        return [
            _as(flat[start + offset : start + offset + dtype.itemsize * math.prod(shape)], dtype, shape)
            for offset, (dtype, shape) in zip(self._output_offsets, self._leaves, strict=True)
        ]

    def _exact(self, storages: Sequence[torch.Tensor], eager: reference.Outcome) -> reference.Outcome | None:
        if self._semantics.eager_is_exact:
            return None
        try:
            exact = reference.run(self._operator, self._case, storages, wide=True)
        except reference.ReferenceFailed:
            return None
        same = [leaf.shape for leaf in exact.leaves] == [leaf.shape for leaf in eager.leaves]
        return exact if same else None

    def _affordable_slots(self) -> int:
        per_slot = 2 * self._contents.slot_bytes + self._output_bytes
        free = _free_bytes(self._device)
        slots = min(MOST_SLOTS, int(MEMORY_SHARE * (free + self._pool.n_bytes) / per_slot))
        if slots < FEWEST_SLOTS:
            message = f"too_large: timing needs {FEWEST_SLOTS * per_slot} bytes, {int(MEMORY_SHARE * free)} can be used"
            raise Untimed(message)
        if slots < MOST_SLOTS:
            self.notes.append("few_slots")
        return slots

    def _share(self, role: str, n_bytes: int) -> SharedBuffer:
        try:
            return self._pool.buffer(role, n_bytes)
        except CannotShare as error:
            message = f"cannot_share: {error}"
            raise Untimed(message) from error
        except MemoryError as error:
            message = f"too_large: {error}"
            raise Untimed(message) from error

    def _synchronize(self) -> None:
        if self._device.type != "cpu":
            torch.cuda.synchronize(self._device)


def _described(buffer: SharedBuffer) -> dict[str, Any]:
    return {"n_bytes": buffer.n_bytes, "handle": buffer.handle, "number": buffer.number}


def _as(flat: torch.Tensor, dtype: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    return (
        flat.view(dtype).view(shape) if flat.numel() else torch.empty(shape, dtype=dtype, device=flat.device)
    )


def _free_bytes(device: torch.device) -> int:
    if device.type == "cpu":
        return 1 << 30
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + unused


def _plain(operator: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return operator(*args, **kwargs)

    return call
