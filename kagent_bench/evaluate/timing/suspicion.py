"""Times that cannot be true: a clock that the supervisor's contradicts, a speed beyond what the device can do.

How much a forged clock can still hide is what remains between the two clocks: see ``hidden_s``.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.model.timing import CaseTiming, Turns

CLOCK_SLACK = 1.35
"""How much slower than its explanation a burst may run: warm caches, power and clocks differ in it."""
CLOCK_SPARE_S = 20e-6
"""Seconds per call that the burst may take longer at any rate: gaps between launches, Python's own loop."""
FLOOR_SHARE = 0.75
"""Share of the least possible time below which a time is no measurement: peaks are nominal, and part of what must
be read may sit in a cache that could not be emptied."""


def median_s(turns: Turns) -> float:
    """Return the median of all samples, in seconds."""
    return statistics.median(sample for turn in turns for sample in turn)


def explained_s(timing: CaseTiming) -> float:
    """Return how long a call of the burst should take by the candidate's own clocks: device or host, the slower."""
    device = median_s(timing.candidate_s) + timing.renewal_s
    return max(device, timing.candidate_host_s + timing.renewal_host_s)


def hidden_s(timing: CaseTiming) -> float | None:
    """Return how much longer than it claims a call may be at most, by the supervisor's clock; None without a burst.

    The burst's calls follow each other, so that none of their work can be outside of it. What it holds besides
    (renewal) is the oracle's own measurement.
    """
    if timing.external_s is None:
        return None
    return max(0.0, timing.external_s - timing.renewal_s - median_s(timing.candidate_s))


def floor_s(timing: CaseTiming) -> float | None:
    """Return the least time in which the device can do what cannot be left undone; None for an unknown device.

    Bytes over bandwidth and operations over rate (Williams, Waterman, Patterson: Roofline, 2009), the larger.
    Outputs count as far as they do not fit into the cache, where they may stay.
    """
    if not timing.peak_bytes_per_s:
        return None
    n_bytes = timing.must_read_bytes + max(0, timing.written_bytes - timing.cache_bytes)
    by_rate = timing.flops / timing.peak_flops_per_s if timing.peak_flops_per_s else 0.0
    return max(n_bytes / timing.peak_bytes_per_s, by_rate)


def suspicion(timing: CaseTiming) -> tuple[str, str] | None:
    """Return reason code and explanation if the candidate's times cannot be true, else None."""
    claimed = median_s(timing.candidate_s)
    least = floor_s(timing)
    if least is not None and claimed < FLOOR_SHARE * least:
        detail = (
            f"a call is said to take {claimed * 1e6:.3g} us; the device needs {least * 1e6:.3g} us to move "
            f"{timing.must_read_bytes + timing.written_bytes} bytes and do {timing.flops} operations"
        )
        return "implausible_time", detail
    if timing.external_s is not None:
        explained = explained_s(timing)
        if timing.external_s > CLOCK_SLACK * explained + CLOCK_SPARE_S:
            detail = (
                f"{timing.external_calls} calls took {timing.external_s * 1e6:.4g} us each by the harness's clock, "
                f"{explained * 1e6:.4g} us by the kernel's process"
            )
            return "clock_disagrees", detail
    return None
