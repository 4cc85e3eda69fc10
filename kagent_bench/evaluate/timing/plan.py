"""How often a case is timed: fixed from the reference's own pilot before any call of the candidate is timed.

A candidate can therefore neither choose its number of repetitions nor stop when it looks good.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

GAUGES = 2
"""Calls of a kernel of fixed length in each turn, which show how the clocks of two processes differ."""
UNRECORDED_CALLS = 1
"""Calls at the start of each turn that are run and dropped: they warm what the other side's turn displaced."""
FEWEST_CALLS = 2
FEWEST_TURNS = 8
"""Turns without which an interval at 95 % would be the whole range."""
FEWEST_SAMPLES = 64
"""Recorded calls of each side, if time allows."""
MOST_SAMPLES = 96
MOST_SLOTS = MOST_SAMPLES // FEWEST_TURNS + UNRECORDED_CALLS
"""Sets of contents that a turn needs at most."""
JITTER_S = 0.15e-6
"""Spread of single event pairs around whatever kernel; ``tests/benchmarks/aa.py`` shows its effect."""
TARGET_SPREAD = 0.005
"""Wanted standard deviation of the ratio."""
HELD_BYTES = 256 << 20
"""Memory for outputs that are held a while, so that those of the next calls lie elsewhere."""
MOST_HELD = 7
BUDGET_S = 0.026
"""Time for the turns of both sides of a case that reads up to ``BUDGET_BYTES``."""
BUDGET_BYTES = 16 << 20
"""Input bytes up to which the budget holds; above, it grows in proportion."""
BURST_S = 0.003
"""Least duration of the burst: the supervisor's clock reads it to a few percent."""
FEWEST_BURST_CALLS = 4
MOST_BURST_CALLS = 1000
_MIDMEAN_EFFICIENCY = 1.1
"""Standard error of an interquartile mean over that of a mean, of normal samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingPlan:
    """How a case is timed."""

    turns: int
    """Turns of each side."""
    calls: int
    """Recorded calls per turn."""
    burst_calls: int
    """Calls of the burst."""

    @property
    def slots(self) -> int:
        """Sets of input contents that are needed at a time."""
        return self.calls + UNRECORDED_CALLS


def plan(
    pilot_s: Sequence[float], *, call_wall_s: float, input_bytes: int, n_sides: int, most_slots: int
) -> TimingPlan:
    """Choose the number of turns and calls.

    Args:
        pilot_s: device seconds of single calls of the reference.
        call_wall_s: seconds that one timed call takes with renewing and emptying the cache.
        input_bytes: bytes of the case's inputs.
        n_sides: sides that take turns, the candidate included.
        most_slots: sets of contents that fit into memory, at least ``FEWEST_CALLS + UNRECORDED_CALLS``.
    """
    middle = statistics.median(pilot_s)
    spread = max(_spread(pilot_s), JITTER_S) / middle
    wanted = 2 * (_MIDMEAN_EFFICIENCY * spread / TARGET_SPREAD) ** 2
    wanted = min(max(wanted, FEWEST_SAMPLES), MOST_SAMPLES)
    budget_s = BUDGET_S * max(1.0, input_bytes / BUDGET_BYTES)
    affordable = budget_s / (FEWEST_TURNS * n_sides * call_wall_s) - UNRECORDED_CALLS - GAUGES
    calls = int(min(math.ceil(wanted / FEWEST_TURNS), affordable, most_slots - UNRECORDED_CALLS))
    per_call_s = max(middle, call_wall_s / 4)
    burst = math.ceil(BURST_S / per_call_s)
    return TimingPlan(
        turns=FEWEST_TURNS,
        calls=max(calls, FEWEST_CALLS),
        burst_calls=min(max(burst, FEWEST_BURST_CALLS), MOST_BURST_CALLS),
    )


def held(output_bytes: int) -> int:
    """Return of how many calls the outputs are held: where memory lies decides about a short kernel's time."""
    return min(MOST_HELD, HELD_BYTES // max(1, output_bytes))


def _spread(samples: Sequence[float]) -> float:
    """Return a robust standard deviation: the median distance from the median, scaled for normal samples."""
    middle = statistics.median(samples)
    return 1.4826 * statistics.median(abs(sample - middle) for sample in samples)
