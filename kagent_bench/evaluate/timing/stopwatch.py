"""Timing a turn of calls on one device, alike in the oracle's and in the candidate's process.

Each call: its inputs are renewed, the last-level cache is emptied, then the call runs between two events. The device
starts on a turn only when the host is far enough ahead never to be caught up with, so an event pair reads what the
device did, not how fast Python could launch it; the host's time is read beside it.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

CACHE_MULTIPLE = 2
"""Bytes written to empty the cache, in cache sizes."""
HOST_CACHE_BYTES = 32 << 20
"""Bytes written on a machine without a device."""
LEAD_MARGIN = 1.2
"""How much slower than in the turn before the host may be and still stay ahead."""
LONGEST_LEAD_S = 5e-3
"""Host work beyond this is left to show in the events, as it would in any program."""
SWEPT_BYTES_PER_S = 6e12
"""About as fast as the fastest device writes memory: what emptying the cache takes is not overestimated."""
SPIN_CYCLES_PER_S = 2e9
"""Cycles of ``torch.cuda._sleep`` per second, at least a GPU's clock: waiting is not underestimated."""
_PERSISTING_L2_LIMIT = 6
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSamples:
    """What one turn measured, unrecorded calls left out."""

    device_s: tuple[float, ...]
    """Seconds per call: of the device, or of the host where there is no device."""
    host_s: tuple[float, ...]
    """Host seconds until each call returned."""


class Stopwatch:
    """Times calls on one device."""

    def __init__(self, device: torch.device) -> None:
        """Allocate what empties the cache."""
        self._device = device
        self.on_gpu = device.type != "cpu"
        self.cache_bytes = _cache_bytes(device)
        n_words = CACHE_MULTIPLE * max(self.cache_bytes, HOST_CACHE_BYTES) // 4
        self._sweep = torch.empty(
            n_words if self.on_gpu else HOST_CACHE_BYTES // 4, dtype=torch.int32, device=device
        )
        self._host_s = 50e-6
        self._reset_persisting = _persisting_reset(device)

    def turn(
        self,
        n_calls: int,
        *,
        unrecorded: int,
        renew: Callable[[int], None],
        call: Callable[[int], Any],
        keep: Callable[[int, Any], None],
        held: int = 0,
    ) -> TurnSamples:
        """Time calls one after the other.

        Args:
            n_calls: calls that are recorded.
            unrecorded: calls before them that are not.
            renew: writes the contents of the given slot into the inputs, on the current stream.
            call: the call on those inputs; returns its outputs.
            keep: copies outputs to the given slot, on the current stream, as they are at that moment.
            held: outputs that are held a while, so that those of following calls lie elsewhere.
        """
        total = unrecorded + n_calls
        collecting = gc.isenabled()
        gc.disable()
        try:
            samples = (
                self._turn_on_gpu(total, renew, call, keep, held)
                if self.on_gpu
                else _turn_on_host(total, renew, call, keep, self._sweep)
            )
        finally:
            if collecting:
                gc.enable()
        device_s, host_s = (values[unrecorded:] for values in samples)
        return TurnSamples(device_s=tuple(device_s), host_s=tuple(host_s))

    def _turn_on_gpu(
        self,
        total: int,
        renew: Callable[[int], None],
        call: Callable[[int], Any],
        keep: Callable[[int, Any], None],
        held: int,
    ) -> tuple[list[float], list[float]]:
        recent: deque[Any] = deque(maxlen=held)
        starts, ends = _events(total), _events(total)
        host: list[float] = []
        _spin(int(self._lead_s(total) * SPIN_CYCLES_PER_S))
        begun = time.perf_counter()
        for index in range(total):
            renew(index)
            self._reset_persisting()
            self._sweep.zero_()
            starts[index].record()
            before = time.perf_counter()
            value = call(index)
            host.append(time.perf_counter() - before)
            ends[index].record()
            keep(index, value)
            recent.append(value)
            del value
        self._host_s = (time.perf_counter() - begun) / total
        torch.cuda.synchronize(self._device)
        device = [start.elapsed_time(end) * 1e-3 for start, end in zip(starts, ends, strict=True)]
        return device, host

    def _lead_s(self, calls: int) -> float:
        """Return how long the device must wait so that the host, at the pace of the turn before, stays ahead of it."""
        at_least_s = self._sweep.numel() * self._sweep.element_size() / SWEPT_BYTES_PER_S
        behind_s = calls * LEAD_MARGIN * self._host_s - (calls - 1) * at_least_s
        return min(max(behind_s, LEAD_MARGIN * self._host_s), LONGEST_LEAD_S)

    def floor(self, n_calls: int = 20) -> float:
        """Return what a turn reads for a kernel that does nothing, in seconds; 0 without a device."""
        if not self.on_gpu:
            return 0.0
        samples = self.turn(
            n_calls,
            unrecorded=3,
            renew=lambda _: None,
            call=lambda _: _spin(0),
            keep=lambda *_: None,
        )
        return statistics.median(samples.device_s)

    def empty_cache(self) -> None:
        """Queue what empties the last-level cache."""
        self._reset_persisting()
        self._sweep.zero_()

    def repeated(self, call: Callable[[], Any], n_calls: int) -> float:
        """Return seconds per call of calls that follow each other directly."""
        call()
        if not self.on_gpu:
            before = time.perf_counter()
            for _ in range(n_calls):
                call()
            return (time.perf_counter() - before) / n_calls
        start, end = _events(2)
        start.record()
        for _ in range(n_calls):
            call()
        end.record()
        torch.cuda.synchronize(self._device)
        return float(start.elapsed_time(end)) * 1e-3 / n_calls


def _turn_on_host(
    total: int,
    renew: Callable[[int], None],
    call: Callable[[int], Any],
    keep: Callable[[int, Any], None],
    sweep: torch.Tensor,
) -> tuple[list[float], list[float]]:
    seconds = []
    for index in range(total):
        renew(index)
        sweep.zero_()
        before = time.perf_counter()
        value = call(index)
        seconds.append(time.perf_counter() - before)
        keep(index, value)
    return seconds, seconds


def _events(count: int) -> list[Any]:
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]  # type: ignore[no-untyped-call]


def _spin(cycles: int) -> None:
    """Queue a kernel that does nothing but wait; torch has no public one."""
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]  # noqa: SLF001


def _cache_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0))


def _persisting_reset(device: torch.device) -> Callable[[], None]:
    """Return what frees cache lines that were set aside to persist; a kernel might have asked for that."""
    if device.type != "cuda" or torch.version.hip:
        return lambda: None
    torch.cuda.synchronize(device)  # makes the device's context current
    driver = ctypes.CDLL("libcuda.so.1")
    driver.cuCtxSetLimit(ctypes.c_int(_PERSISTING_L2_LIMIT), ctypes.c_size_t(0))
    reset = driver.cuCtxResetPersistingL2Cache

    def free() -> None:
        reset()

    return free
