"""The timing of one case as it is stored: raw samples and facts; every statistic is derived from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

Turns = tuple[tuple[float, ...], ...]
"""Seconds of single calls, turn by turn: the calls of a turn follow each other, turns of the sides alternate."""

EAGER = "eager"
"""Name of the reference side that every timed case has."""
HOST_METHOD = "host clock"
"""Method where there is no device to time: such samples are recorded and never make a speedup."""
EVENT_METHOD = "device events, cold L2, sides in turns"
"""Method on a GPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTiming:
    """How fast one kernel is on one case, beside the references that were timed in turns with it."""

    method: str
    """``EVENT_METHOD`` or ``HOST_METHOD``."""
    candidate_s: Turns
    """By the clock of the candidate's own process, which ``external_s`` bounds."""
    references_s: Mapping[str, Turns]
    """By the oracle's clock: ``eager`` always, ``torch-compile`` if asked for; turn by turn as the candidate's."""
    reference_first: tuple[bool, ...]
    """Of each turn, whether the references' came before the candidate's; drawn at random, half and half."""
    candidate_host_s: float
    """Median host time until a call of the kernel returned, work on the device perhaps still under way."""
    reference_host_s: float
    """The same of eager."""
    external_s: float | None = None
    """Seconds per call of a burst of ``external_calls`` calls, by the supervisor's clock: the kernel cannot forge
    it. It holds renewing the inputs, and the host's work where that takes longer than the device's. None where the
    burst was left out."""
    external_calls: int = 0
    renewal_s: float = 0.0
    """Seconds that the device takes to renew the inputs of one call, as the oracle measured it."""
    renewal_host_s: float = 0.0
    """Host seconds for the same."""
    launch_floor_s: float = 0.0
    """What the method reads for a kernel that does nothing: launch and events."""
    candidate_gauge_s: tuple[float, ...] = ()
    """What the candidate's clock read in each turn for a kernel of fixed length; 0 without a device."""
    reference_gauge_s: tuple[float, ...] = ()
    """The same of the oracle's: equal kernels, so that clocks are what differs."""
    first_s: float | None = None
    """Host time of the first call on this case, compilation and autotuning included."""
    kernel_s: float | None = None
    """Time of the kernels alone in one call by the driver's tracing (CUPTI), if asked for; evidence, as it is
    read in the candidate's process."""
    reference_kernel_s: float | None = None
    read_bytes: int = 0
    """Bytes of the elements of the inputs that the call looks at, each once."""
    written_bytes: int = 0
    """Bytes of the outputs."""
    must_read_bytes: int = 0
    """Part of ``read_bytes`` that no right kernel can leave unread; 0 where that depends on values."""
    flops: int = 0
    """Floating point operations where torch has a counter for the operator, else 0."""
    peak_bytes_per_s: float | None = None
    """The device's memory bandwidth, from ``configs/devices.toml``; None for an unknown device."""
    peak_flops_per_s: float | None = None
    """Its rate for the case's dtype."""
    cache_bytes: int = 0
    """Its last-level cache."""
    checked_calls: int = 0
    """Timed calls whose outputs were compared in full, chosen in secret."""
    device_state: Mapping[str, Any] | None = None
    """Clocks, temperature, reasons of throttling and other processes, where the driver tells."""
    notes: tuple[str, ...] = ()
    """What limits the measurement, by name: ``fixed_contents``, ``few_slots``, ``time_budget``."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        data = {item.name: getattr(self, item.name) for item in fields(self)}
        data["candidate_s"] = [list(turn) for turn in self.candidate_s]
        data["references_s"] = {
            name: [list(turn) for turn in turns] for name, turns in self.references_s.items()
        }
        data["device_state"] = dict(self.device_state) if self.device_state is not None else None
        data["notes"] = list(self.notes)
        for name in ("reference_first", "candidate_gauge_s", "reference_gauge_s"):
            data[name] = list(data[name])
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CaseTiming:
        """Read the JSON form.

        Raises:
            TypeError, KeyError: the data is no timing.
        """
        known = dict(data)
        known["candidate_s"] = _turns(known["candidate_s"])
        known["references_s"] = {name: _turns(turns) for name, turns in known["references_s"].items()}
        for name in ("reference_first", "candidate_gauge_s", "reference_gauge_s", "notes"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


def _turns(value: Any) -> Turns:
    return tuple(tuple(float(sample) for sample in turn) for turn in value)
