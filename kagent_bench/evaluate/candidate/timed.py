"""The candidate's part in timing: calls of the kernel on contents that the oracle owns, between events.

The clock that is read here can be forged by the kernel's code. The supervisor's own clock bounds it, and the
outputs, copied to the oracle's memory as each call returns, show whether the work was done by then.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.timing.kernel_trace import kernel_seconds
from kagent_bench.evaluate.timing.shared_memory import CannotShare, SharedBuffer, open_shared
from kagent_bench.evaluate.timing.stopwatch import Stopwatch, TurnSamples

if TYPE_CHECKING:
    from kagent_bench.evaluate.candidate.memory import Call

_STOPWATCHES: dict[str, Stopwatch] = {}
"""One per device: what empties the cache is large."""
_MAPPED: dict[str, tuple[int, SharedBuffer]] = {}
"""The oracle's buffers by role, with their number: they stay from case to case, until there is another one."""


class WrongShape(Exception):
    """A timed call returned something else than the judged calls did."""


class TimedCall:
    """One case while it is timed."""

    def __init__(
        self,
        invitation: dict[str, Any],
        descriptors: tuple[int, ...],
        call: Call,
        device: str,
        function: Callable[..., Any],
    ) -> None:
        """Map the oracle's memory.

        Args:
            invitation: what the oracle sent.
            descriptors: of the live inputs, the contents and the outputs, where there is no device.
            call: the case's call, with the kernel's arguments.
            device: torch's device string.
            function: the kernel.

        Raises:
            CannotShare: the driver refuses.
        """
        self._function = function
        self._device = torch.device(device)
        if device not in _STOPWATCHES:
            _STOPWATCHES[device] = Stopwatch(self._device)
        self._watch = _STOPWATCHES[device]
        self._calls, self._unrecorded = invitation["calls"], invitation["unrecorded"]
        self._slots = self._calls + self._unrecorded
        inputs, outputs = invitation["inputs"], invitation["outputs"]
        opened = zip(("live", "inputs", "outputs"), descriptors or (None,) * 3, strict=True)
        live, contents, self._outputs = (
            _open(role, invitation[role], self._device, descriptor) for role, descriptor in opened
        )
        self._call = call.over(live.flat, inputs["offsets"])
        n_bytes = inputs["slot_bytes"]
        self._live = live.flat[:n_bytes]
        self._contents = contents.flat[: self._slots * n_bytes].view(self._slots, n_bytes).unbind()
        self._held = invitation["held"]
        self._targets = [self._targets_of(outputs, slot) for slot in range(self._slots)]

    def turn(self) -> dict[str, Any]:
        """Time a turn; returns the samples in seconds."""
        samples = self._turn(self._calls)
        host_s = statistics.median(samples.host_s)
        return {
            "outcome": "timed",
            "device_s": list(samples.device_s),
            "host_s": host_s,
            "gauge_s": self._watch.gauge(),
        }

    def _turn(self, n_calls: int) -> TurnSamples:
        with torch.no_grad():
            return self._watch.turn(
                n_calls,
                unrecorded=self._unrecorded,
                renew=self._renew,
                call=self._called(),
                keep=self._keep,
                held=self._held,
            )

    def warm_up(self) -> None:
        """Make a call, for the host's pace and for what a first call without the observer sets up."""
        self._turn(1)

    def burst(self, n_calls: int) -> dict[str, Any]:
        """Call the kernel so often, one call directly after the other; the supervisor holds the clock."""
        call = self._called()
        value = None
        with torch.no_grad():
            for index in range(n_calls):
                self._renew(index)
                value = call(index)
            if n_calls:
                self._keep(0, value)
        if self._device.type != "cpu":
            torch.cuda.synchronize(self._device)
        return {"outcome": "timed"}

    def trace(self, n_calls: int) -> dict[str, Any]:
        """Read the time of the kernels alone from the driver's trace."""
        call = self._called()
        self._renew(0)
        with torch.no_grad():
            seconds = kernel_seconds(lambda: call(0), self._watch, n_calls)
        return {"outcome": "timed", "kernel_s": seconds}

    def _called(self) -> Callable[[int], Any]:
        """Return what calls the kernel."""
        args, kwargs = self._call.arguments()
        return lambda _: self._function(*args, **kwargs)

    def _renew(self, index: int) -> None:
        self._live.copy_(self._contents[index % self._slots])

    def _keep(self, slot: int, value: Any) -> None:
        leaves = _tensors_in(value)
        targets = self._targets[slot]
        if len(leaves) != len(targets):
            message = f"a timed call returned {len(leaves)} tensors, {len(targets)} are expected"
            raise WrongShape(message)
        for target, leaf in zip(targets, leaves, strict=True):
            if leaf.shape != target.shape or leaf.dtype != target.dtype:
                message = f"a timed call returned {leaf.dtype} {list(leaf.shape)}, expected {target.dtype} {list(target.shape)}"
                raise WrongShape(message)
            target.copy_(leaf)

    def _targets_of(self, outputs: dict[str, Any], slot: int) -> list[torch.Tensor]:
        start = slot * outputs["slot_bytes"]
        targets = []
        for leaf in outputs["leaves"]:
            dtype: torch.dtype = getattr(torch, leaf["dtype"])
            n_bytes = dtype.itemsize
            for size in leaf["shape"]:
                n_bytes *= size
            flat = self._outputs.flat[start + leaf["offset"] : start + leaf["offset"] + n_bytes]
            empty = torch.empty(leaf["shape"], dtype=dtype, device=self._device)
            targets.append(flat.view(dtype).view(leaf["shape"]) if n_bytes else empty)
        return targets


def _open(role: str, described: dict[str, Any], device: torch.device, descriptor: int | None) -> SharedBuffer:
    number, known = _MAPPED.get(role, (None, None))
    if known is not None and number == described["number"]:
        if descriptor is not None:
            os.close(descriptor)
        return known
    if known is not None:
        known.close()
    opened = open_shared(described["n_bytes"], device, handle=described["handle"], descriptor=descriptor)
    _MAPPED[role] = described["number"], opened
    return opened


def _tensors_in(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _tensors_in(item)]
    return []


class TimedCalls:
    """Answers the supervisor's timing requests."""

    def __init__(self, function: Callable[..., Any], device: str) -> None:
        """Take the kernel."""
        self._function = function
        self._device = device
        self._timed: TimedCall | None = None

    def answer(self, request: dict[str, Any], descriptors: tuple[int, ...], call: Call) -> dict[str, Any]:
        """Do one step.

        Raises:
            Exception: whatever the kernel raises.
        """
        step = request["time"]
        if step == "open":
            try:
                self._timed = TimedCall(
                    request["invitation"], descriptors, call, self._device, self._function
                )
            except CannotShare as error:
                for descriptor in descriptors:
                    os.close(descriptor)
                return {"outcome": "untimed", "detail": str(error)}
            self._timed.warm_up()
            return {"outcome": "timed"}
        timed = self._timed
        assert timed is not None
        if step == "turn":
            return timed.turn()
        if step == "burst":
            return timed.burst(request["calls"])
        return timed.trace(request["calls"])
