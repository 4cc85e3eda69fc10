"""Timing a turn of calls on one device, alike in the oracle's and in the candidate's process.

Each call: its inputs are renewed, the last-level cache is emptied, then the call runs between two events. Emptying the
cache, and a wait where that is too short, hold the device back until the host has queued the call, so an event pair
reads what the device did, not how fast Python could launch it; the host's time is read beside it. Nothing is queued behind the call while it runs: a device that
fetches what follows reads a short call up to 1 us too long, and by how much depends on where in its queue the call
lies. The cache is emptied by reading: had it been by writing, the call would be charged for writing those lines back.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import torch

from kagent_bench.evaluate.timing.plan import GAUGES

CACHE_MULTIPLE = 2
"""Bytes read to empty the cache, in cache sizes."""
HOST_CACHE_BYTES = 32 << 20
"""Bytes written on a machine without a device."""
LEAD_MARGIN = 1.25
"""How much slower than before the host may be and still stay ahead of the device."""
LEAST_LEAD_S = 10e-6
LONGEST_LEAD_S = 2e-3
"""Host work beyond this is left to show in the events, as it would in any program."""
MOST_TRIES = 4
"""Times that a call is made until the host stayed ahead; the last one counts at any rate."""
GAUGE_CYCLES = 20_000
"""Length of the kernel that shows how the clocks of two processes differ: 10 us, since shorter ones read less evenly."""
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
    wall_s: float
    """Median host seconds from one call to the next, with all that precedes and follows it."""


class Stopwatch:
    """Times calls on one device."""

    def __init__(self, device: torch.device) -> None:
        """Allocate what empties the cache."""
        self._device = device
        self.on_gpu = device.type != "cpu"
        self.cache_bytes = _cache_bytes(device)
        n_words = CACHE_MULTIPLE * max(self.cache_bytes, HOST_CACHE_BYTES) // 4
        self._swept = torch.zeros(
            n_words if self.on_gpu else HOST_CACHE_BYTES // 4, dtype=torch.int32, device=device
        )
        self._greatest = torch.zeros((), dtype=torch.int32, device=device)
        self._queueing_s = 50e-6
        """Host seconds to queue a call behind the emptying of the cache, as in the call before."""
        self._tries = MOST_TRIES
        self._events = _events(2) if self.on_gpu else []
        self._stream: Any = torch.cuda.current_stream(device) if self.on_gpu else None
        """Told to each event, since an event that looks for the current one takes longer than the launch it times."""
        self._reset_persisting = _persisting_reset(device)
        self._swept_s = min(self.repeated(self.empty_cache, 5) for _ in range(3)) if self.on_gpu else 0.0

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
        begun: list[float] = []

        def renewed(index: int) -> None:
            begun.append(time.perf_counter())
            renew(index)

        try:
            device_s, host_s = (
                self._turn_on_gpu(total, renewed, call, keep, held)
                if self.on_gpu
                else _turn_on_host(total, renewed, call, keep, self._swept)
            )
            begun.append(time.perf_counter())
        finally:
            if collecting:
                gc.enable()
        return TurnSamples(
            device_s=tuple(device_s[unrecorded:]),
            host_s=tuple(host_s[unrecorded:]),
            wall_s=statistics.median(later - earlier for earlier, later in pairwise(begun)),
        )

    def _turn_on_gpu(
        self,
        total: int,
        renew: Callable[[int], None],
        call: Callable[[int], Any],
        keep: Callable[[int, Any], None],
        held: int,
    ) -> tuple[list[float], list[float]]:
        recent: deque[Any] = deque(maxlen=held)
        device, host = [], []
        for index in range(total):
            value, device_s, host_s = self._timed(
                partial(renew, index), partial(call, index), partial(keep, index)
            )
            device.append(device_s)
            host.append(host_s)
            recent.append(value)
            del value
        # What a kernel started on another stream must not run into the other side's turn.
        torch.cuda.synchronize(self._device)
        return device, host

    def _timed(
        self, renew: Callable[[], None], call: Callable[[], Any], keep: Callable[[Any], None]
    ) -> tuple[Any, float, float]:
        """Return a call's value, device seconds and host seconds, of a try in which the host stayed ahead.

        A kernel that waits for the device is never ahead: once that is seen, one try is enough.
        """
        start, end = self._events
        for _ in range(self._tries):
            renew()
            self.empty_cache()
            begun = time.perf_counter()
            lead_s = LEAD_MARGIN * self._queueing_s - self._swept_s
            _spin(int(min(max(lead_s, LEAST_LEAD_S), LONGEST_LEAD_S) * SPIN_CYCLES_PER_S))
            start.record(self._stream)
            before = time.perf_counter()
            value = call()
            host_s = time.perf_counter() - before
            self._return_to_stream()
            end.record(self._stream)
            ahead = not start.query()
            self._queueing_s = time.perf_counter() - begun
            keep(value)
            end.synchronize()
            if ahead:
                break
        self._tries = MOST_TRIES if ahead else 1
        return value, start.elapsed_time(end) * 1e-3, host_s

    def _return_to_stream(self) -> None:
        """Make the stream of the events current again; a kernel that left another one must not run beside them."""
        if _raw_stream(self._stream.device_index) != self._stream.cuda_stream:
            torch.cuda.set_stream(self._stream)

    def gauge(self) -> float:
        """Return what the clock reads now for a kernel of fixed length, the same in every process; 0 without a device."""
        return statistics.mean(self._spun(GAUGE_CYCLES) for _ in range(GAUGES)) if self.on_gpu else 0.0

    def floor(self, n_calls: int = 32) -> float:
        """Return what a turn reads for a kernel that does nothing, in seconds; 0 without a device."""
        return statistics.median(self._spun(0) for _ in range(n_calls)) if self.on_gpu else 0.0

    def _spun(self, cycles: int) -> float:
        """Return what the clock reads for a kernel that waits so long."""
        _, device_s, _ = self._timed(_nothing, partial(_spin, cycles), _nothing)
        return device_s

    def empty_cache(self) -> None:
        """Queue what empties the last-level cache."""
        self._reset_persisting()
        torch.amax(self._swept, dim=0, out=self._greatest)

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


def _nothing(*_: object) -> None:
    """Renew or keep nothing."""


def _events(count: int) -> list[Any]:
    return [torch.cuda.Event(enable_timing=True) for _ in range(count)]  # type: ignore[no-untyped-call]


def _spin(cycles: int) -> None:
    """Queue a kernel that does nothing but wait; torch has no public one."""
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]  # noqa: SLF001


def _raw_stream(device_index: int) -> int:
    """Return the handle of a device's current stream; torch's public call takes ten times as long."""
    return int(torch._C._cuda_getCurrentRawStream(device_index))  # noqa: SLF001


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
