"""Timings of cases as a device might have given them, for tests of what is derived from samples."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from kagent_bench.model.timing import EAGER, EVENT_METHOD, CaseTiming

if TYPE_CHECKING:
    from kagent_bench.model.timing import Turns

TURNS, CALLS = 12, 6


def samples(median_s: float, *, spread: float = 0.02, seed: int = 0, drift: float = 0.0) -> Turns:
    """Return turns of samples around a median: normal, with a drift that grows from turn to turn."""
    source = random.Random(seed)  # noqa: S311 - not a secret
    return tuple(
        tuple(median_s * (1 + drift * turn) * max(0.01, source.gauss(1.0, spread)) for _ in range(CALLS))
        for turn in range(TURNS)
    )


def timing(
    candidate_s: float, reference_s: float, *, spread: float = 0.02, seed: int = 0, **changed: Any
) -> CaseTiming:
    """Return the timing of a kernel and its reference; everything else is unsuspicious."""
    fields: dict[str, Any] = {
        "method": EVENT_METHOD,
        "candidate_s": samples(candidate_s, spread=spread, seed=2 * seed),
        "references_s": {EAGER: samples(reference_s, spread=spread, seed=2 * seed + 1)},
        "reference_first": tuple(turn % 2 == 0 for turn in range(TURNS)),
        "candidate_host_s": 10e-6,
        "reference_host_s": 5e-6,
        "external_s": candidate_s + 3e-6,
        "external_calls": 100,
        "renewal_s": 2e-6,
        "renewal_host_s": 5e-6,
        "launch_floor_s": 3e-6,
        "read_bytes": 1 << 20,
        "written_bytes": 1 << 20,
        "must_read_bytes": 1 << 20,
        "peak_bytes_per_s": 4.8e12,
        "peak_flops_per_s": 67e12,
        "cache_bytes": 50 << 20,
        "checked_calls": 3,
        "device_state": {"throttled": [], "other_processes": 0},
    }
    return CaseTiming(**{**fields, **changed})
