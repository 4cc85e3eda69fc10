"""How often a case is timed: fixed from the reference's own pilot before any call of the candidate is timed.

A candidate can therefore neither choose its number of repetitions nor stop when it looks good.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CALLS_PER_TURN = 6
"""Recorded calls between two changes of sides: enough to make changing cheap, few enough to share the weather."""
SHORT_CALLS_PER_TURN = 16
"""The same for short kernels, whose relative spread is larger and whose calls are cheap."""
SHORT_S = 12e-6
"""Device time under which a kernel counts as short."""
UNRECORDED_CALLS = 2
"""Calls at the start of each turn that are run and dropped: they warm what the other side's turn displaced."""
FEWEST_CALLS = 2
MOST_SLOTS = SHORT_CALLS_PER_TURN + UNRECORDED_CALLS
"""Sets of contents that a turn needs at most."""
FEWEST_TURNS = 8
"""Turns without which an interval at 95 % would be the whole range."""
USUAL_TURNS = 12
MOST_TURNS = 16
"""Also the turns that a short kernel gets, if time allows."""
PLACED_BYTES = 256 << 20
"""Memory for a side's inputs in several places; large inputs lie everywhere by themselves."""
MOST_PLACES = 8
TARGET_HALF_WIDTH = 0.003
"""Wanted half width of the interval of the ratio: 0.3 %."""
BUDGET_S = 0.026
"""Device time for the turns of both sides of a case that moves up to ``BUDGET_BYTES``."""
BUDGET_BYTES = 16 << 20
"""Input bytes up to which the budget holds; above, it grows in proportion."""
BURST_S = 0.012
"""Least duration of the burst: the supervisor's clock reads it to a few percent."""
FEWEST_BURST_CALLS = 4
MOST_BURST_CALLS = 1000
_MEDIAN_EFFICIENCY = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, of normal samples."""
_QUANTILE = 1.96
"""Of the normal distribution, two-sided 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimingPlan:
    """How a case is timed."""

    turns: int
    """Turns of each side."""
    calls: int
    """Recorded calls per turn."""
    burst_calls: int
    """Calls of the burst."""
    places: int
    """Sets of memory that a side's inputs lie in, one call after the other: where memory lies decides about several
    percent of a short kernel's time, alike in no two processes."""

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
    budget_s = BUDGET_S * max(1.0, input_bytes / BUDGET_BYTES)
    one_s = call_wall_s * n_sides
    short = middle < SHORT_S
    calls = SHORT_CALLS_PER_TURN if short else CALLS_PER_TURN
    calls = min(
        calls, most_slots - UNRECORDED_CALLS, int(budget_s / (FEWEST_TURNS * one_s)) - UNRECORDED_CALLS
    )
    calls = max(calls, FEWEST_CALLS)
    spread = _spread(pilot_s) / middle if middle > 0 else 0.0
    wanted = 2 * (_QUANTILE * _MEDIAN_EFFICIENCY * spread / TARGET_HALF_WIDTH) ** 2
    affordable = budget_s / (one_s * (calls + UNRECORDED_CALLS))
    turns = max(wanted / calls, MOST_TURNS if short else USUAL_TURNS)
    turns = int(min(turns, affordable, MOST_TURNS))
    per_call_s = max(middle, call_wall_s / 4)
    burst = math.ceil(BURST_S / per_call_s)
    return TimingPlan(
        turns=max(turns, FEWEST_TURNS),
        calls=calls,
        places=places(input_bytes),
        burst_calls=min(max(burst, FEWEST_BURST_CALLS), MOST_BURST_CALLS),
    )


def places(input_bytes: int) -> int:
    """Return in how many places of memory each side's inputs lie by turns."""
    return max(1, min(MOST_PLACES, PLACED_BYTES // max(1, input_bytes)))


def _spread(samples: Sequence[float]) -> float:
    """Return a robust standard deviation: the median distance from the median, scaled for normal samples."""
    middle = statistics.median(samples)
    return 1.4826 * statistics.median(abs(sample - middle) for sample in samples)
