"""How fast a correct kernel is, for its author: one ratio, and the cases in words."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

from kagent_bench.model.timing import EAGER, EVENT_METHOD

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.timing import CaseTiming, Turns

SHOWN_CASES = 5
"""Slowest cases, beside eager, that are described."""
_MICROSECOND_S = 1e-6


def speed(records: Iterable[CaseRecord]) -> tuple[float | None, str]:
    """Return the geometric mean of the speedups over eager, and the slowest cases in words.

    Only times of a device count; without any there is None and no words.

    Args:
        records: Those of one kernel.
    """
    timed = [(record, record.timing) for record in records if record.timing is not None]
    rows = [(_speedup(timing), record, timing) for record, timing in timed if timing.method == EVENT_METHOD]
    if not rows:
        return None, ""
    rows.sort(key=lambda row: row[0])
    mean = math.exp(statistics.fmean(math.log(row[0]) for row in rows))
    lines = [_words(ratio, record, timing) for ratio, record, timing in rows[:SHOWN_CASES]]
    return mean, "\n".join(lines)


def _words(ratio: float, record: CaseRecord, timing: CaseTiming) -> str:
    own, eager = _median(timing.candidate_s), _median(timing.references_s[EAGER])
    text = (
        f"{record.op_name}{record.call}: {own / _MICROSECOND_S:.1f} us, eager {eager / _MICROSECOND_S:.1f} us, "
        f"{ratio:.2f}x"
    )
    if timing.peak_bytes_per_s:
        share = (timing.read_bytes + timing.written_bytes) / timing.peak_bytes_per_s / own
        text += f", {share:.0%} of the memory bandwidth"
    if timing.peak_flops_per_s and timing.flops:
        text += f", {timing.flops / timing.peak_flops_per_s / own:.0%} of the arithmetic peak"
    if timing.launch_floor_s:
        text += f" (a kernel that does nothing takes {timing.launch_floor_s / _MICROSECOND_S:.1f} us)"
    return text


def _speedup(timing: CaseTiming) -> float:
    return _median(timing.references_s[EAGER]) / _median(timing.candidate_s)


def _median(turns: Turns | Sequence[Sequence[float]]) -> float:
    return statistics.median(sample for turn in turns for sample in turn)
