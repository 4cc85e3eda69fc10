"""What the stored samples of a case say about its speed; pure functions, no clock.

The ratio of two kernels that took turns is estimated from one logarithm per turn, ``ln(reference / candidate)`` of
the turn's interquartile means: whatever drifts from turn to turn falls out. (Event pairs read one of a few values
around a short kernel's time; a median jumps between those, a mean of the middle does not.) Estimate and interval are Hodges' and Lehmann's
(Estimates of location based on rank tests, 1963): the median of all pairwise means, and those pairwise means that
Wilcoxon's signed-rank test does not reject; exact for symmetric differences, and one disturbed turn moves neither.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from kagent_bench.evaluate.timing.suspicion import hidden_s, median_s, suspicion
from kagent_bench.model.timing import EAGER, EVENT_METHOD, CaseTiming, Turns

CONFIDENCE = 0.95
LAUNCH_BOUND = 1.3
"""A reference within this multiple of an empty launch measures launching: no kernel can be told from another."""
HOST_BOUND = 1.3
"""A kernel whose launching takes the host so much longer than the device: its time is bounded loosely from outside."""
NOISY_HALF_WIDTH = 0.05
"""Half width of the interval from which a ratio is no measurement."""
SPREAD = 0.25
"""Share of the median that the middle half of the samples may span."""
SYSTEMATIC_S = 0.15e-6
"""Seconds that two processes may differ by for equal kernels, whatever is repeated: where their memory and code lie.
``tests/benchmarks/aa.py`` measures it."""
CLOCK_SHARE = 0.6
"""Part of the difference between what two processes' clocks read for equal kernels that other kernels show, too: the
slope of one on the other in runs of ``tests/benchmarks/aa.py``."""
MOST_CLOCK_DIFFERENCE_S = 0.4e-6
"""Part of the difference between what two processes' clocks read for equal kernels that is taken off. It is 0.1 us
or so, and a larger one is no property of a clock."""
SYSTEMATIC_SHARE = 0.003
"""The same in proportion to the time, for long kernels."""


IMPLAUSIBLE = "implausible"
"""Note on a time that cannot be true; it enters no mean at all."""


class Finding(str, Enum):
    """What an interval says."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"

    def __str__(self) -> str:
        """Return the word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times as fast as a reference the candidate is."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval of its logarithm, about a share of the value."""
        return math.log(self.high / self.low) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The speed of one case."""

    ratio: Ratio | None
    """Against eager; None where nothing was timed on a device."""
    finding: Finding | None
    candidate_s: float
    """Median."""
    reference_s: float
    others: Mapping[str, Ratio]
    """Against the other references, by name."""
    guaranteed: float | None
    """The least speedup against eager that the supervisor's clock allows; None without a burst."""
    light_share: float | None
    """Share of the speed of light: least time of all bytes and operations over the median; None if unknown."""
    notes: tuple[str, ...]
    """By name: ``launch_bound``, ``host_bound``, ``noisy``, ``spread``, ``throttled``, ``busy_device``, ``implausible``,
    and those stored with the samples."""

    @property
    def counts(self) -> bool:
        """Whether the ratio enters a score."""
        return self.ratio is not None and not ({"launch_bound", "noisy", IMPLAUSIBLE} & set(self.notes))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "speedup": self.ratio.value if self.ratio else None,
            "low": self.ratio.low if self.ratio else None,
            "high": self.ratio.high if self.ratio else None,
            "finding": self.finding.value if self.finding else None,
            "candidate_s": self.candidate_s,
            "reference_s": self.reference_s,
            "others": {
                name: {"speedup": r.value, "low": r.low, "high": r.high} for name, r in self.others.items()
            },
            "guaranteed_speedup": self.guaranteed,
            "speed_of_light_share": self.light_share,
            "notes": list(self.notes),
            "counts": self.counts,
        }


def speed_of(timing: CaseTiming) -> Speed:
    """Return what a case's samples say."""
    eager = timing.references_s[EAGER]
    candidate = by_one_clock(timing)
    candidate_s, reference_s = median_s(candidate), median_s(eager)
    on_device = timing.method == EVENT_METHOD
    ratio = ratio_of(candidate, eager) if on_device else None
    others = {
        name: found
        for name, turns in timing.references_s.items()
        if name != EAGER and on_device and (found := ratio_of(candidate, turns)) is not None
    }
    hidden = hidden_s(timing)
    return Speed(
        ratio=ratio,
        finding=None if ratio is None else finding_of(ratio, min(candidate_s, reference_s)),
        candidate_s=candidate_s,
        reference_s=reference_s,
        others=others,
        guaranteed=reference_s / (median_s(timing.candidate_s) + hidden)
        if on_device and hidden is not None
        else None,
        light_share=light_share(timing, candidate_s) if on_device else None,
        notes=tuple(_notes(timing, ratio, candidate_s, reference_s)) if on_device else timing.notes,
    )


def by_one_clock(timing: CaseTiming) -> Turns:
    """Return the candidate's samples as the oracle's clock would have read them.

    Two processes read equal kernels differently by about 0.1 us, each as long as it lives; in each turn both read one
    of the same length.
    """
    if not timing.candidate_gauge_s or not timing.reference_gauge_s:
        return timing.candidate_s
    excess_s = CLOCK_SHARE * (midmean(timing.candidate_gauge_s) - midmean(timing.reference_gauge_s))
    excess_s = max(-MOST_CLOCK_DIFFERENCE_S, min(excess_s, MOST_CLOCK_DIFFERENCE_S))
    return tuple(tuple(max(sample - excess_s, sample / 2) for sample in turn) for turn in timing.candidate_s)


def ratio_of(candidate: Turns, reference: Turns) -> Ratio | None:
    """Return how many times as fast the candidate is, with its interval at ``CONFIDENCE``.

    Args:
        candidate: seconds, turn by turn.
        reference: seconds of the turns beside them.

    Returns:
        None where there is no pair of turns. With too few turns for the confidence the interval is the whole
        range of pairwise means.
    """
    logarithms = [
        math.log(midmean(theirs) / midmean(ours))
        for ours, theirs in zip(candidate, reference, strict=False)
        if ours and theirs
    ]
    if not logarithms:
        return None
    means = sorted(
        (first + second) / 2 for index, first in enumerate(logarithms) for second in logarithms[index:]
    )
    outside = _rejected_ranks(len(logarithms))
    low, high = means[outside], means[len(means) - 1 - outside]
    return Ratio(value=math.exp(statistics.median(means)), low=math.exp(low), high=math.exp(high))


def midmean(samples: Sequence[float]) -> float:
    """Return the interquartile mean: of the middle half of the samples, the outermost of which count in part."""
    ordered = sorted(samples)
    quarter = len(ordered) / 4
    cut = int(quarter)
    inner = ordered[cut : len(ordered) - cut]
    edge = quarter - cut
    if len(inner) == 1:
        return inner[0]
    return (sum(inner) - edge * (inner[0] + inner[-1])) / (len(inner) - 2 * edge)


@lru_cache(maxsize=64)
def _rejected_ranks(n: int) -> int:
    """Return how many pairwise means at each end lie outside the interval: the signed-rank test's critical value."""
    total = n * (n + 1) // 2
    ways = [1] + [0] * total
    for rank in range(1, n + 1):
        for value in range(total, rank - 1, -1):
            ways[value] += ways[value - rank]
    allowed = (1 - CONFIDENCE) / 2 * 2**n
    below, rejected = 0, 0
    for value, count in enumerate(ways):
        below += count
        if below > allowed:
            break
        rejected = value + 1
    return min(rejected, (total - 1) // 2)


def finding_of(ratio: Ratio, shortest_s: float) -> Finding:
    """Return what a ratio says, beyond what two processes may show between equal kernels.

    Args:
        ratio: with its interval.
        shortest_s: the faster side's median, in seconds.
    """
    systematic = SYSTEMATIC_SHARE + SYSTEMATIC_S / shortest_s
    if ratio.low > 1 + systematic:
        return Finding.FASTER
    return Finding.SLOWER if ratio.high < 1 - systematic else Finding.NO_DIFFERENCE


def light_share(timing: CaseTiming, median: float) -> float | None:
    """Return the share of the speed of light, None for an unknown device or a call without work.

    The least time is the larger of all bytes (read and written, each once) over bandwidth and operations over rate.
    """
    if not timing.peak_bytes_per_s:
        return None
    by_bytes = (timing.read_bytes + timing.written_bytes) / timing.peak_bytes_per_s
    by_rate = timing.flops / timing.peak_flops_per_s if timing.peak_flops_per_s else 0.0
    least = max(by_bytes, by_rate)
    return least / median if least else None


def _notes(timing: CaseTiming, ratio: Ratio | None, candidate_s: float, reference_s: float) -> Sequence[str]:
    state = timing.device_state or {}
    found = {
        "launch_bound": reference_s <= LAUNCH_BOUND * timing.launch_floor_s,
        "host_bound": timing.candidate_host_s > HOST_BOUND * candidate_s,
        "noisy": ratio is not None and ratio.half_width > NOISY_HALF_WIDTH,
        "spread": _spread(timing.candidate_s) > SPREAD or _spread(timing.references_s[EAGER]) > SPREAD,
        "throttled": bool(state.get("throttled")),
        "busy_device": bool(state.get("other_processes")),
        IMPLAUSIBLE: suspicion(timing) is not None,
    }
    return [*(name for name, holds in found.items() if holds), *timing.notes]


def _spread(turns: Turns) -> float:
    samples = [sample for turn in turns for sample in turn]
    if len(samples) < 4:  # noqa: PLR2004 - quartiles of fewer say nothing
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle
