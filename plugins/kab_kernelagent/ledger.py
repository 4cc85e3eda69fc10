"""The ledger of a run: one row when a call is sent and one when it ended, and the sums over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kab_kernelagent.outcome import CallOutcome
from kagent_bench.model.spending import Spending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SENT, ENDED = "sent", "ended"
UNTOLD = frozenset({CallOutcome.TIMEOUT.value, CallOutcome.LOST.value})
"""Ends of calls that the provider may have been paid for, though no reply says what they took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What the limits of a run reckon with: where a call's part is unknown, the most that it can be."""

    tokens: int = 0
    cost_usd: float = 0.0


def taken(rows: Iterable[Mapping[str, Any]]) -> Taken:
    """Return what the calls of a run have taken of its limits."""
    sent: dict[str, Mapping[str, Any]] = {}
    tokens, cost_usd = 0, 0.0
    for row in rows:
        name = str(row.get("id"))
        if row.get("event") == SENT:
            sent[name] = row
        elif row.get("event") == ENDED:
            at_most = sent.get(name, {}) if row["outcome"] in {*UNTOLD, CallOutcome.ANSWERED.value} else {}
            sent_in, received, cost = row.get("tokens_in"), row.get("tokens_out"), row.get("cost_usd")
            untold = sent_in is None or received is None
            tokens += at_most.get("tokens_at_most", 0) if untold else int(sent_in or 0) + int(received or 0)
            cost_usd += at_most.get("cost_at_most_usd", 0.0) if cost is None else cost
    return Taken(tokens=tokens, cost_usd=cost_usd)


def lost_calls(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of calls that were sent and never ended: the program was killed while they were under way."""
    ended = set()
    sent: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row.get("event") == ENDED:
            ended.add(row.get("id"))
        elif row.get("event") == SENT:
            sent[str(row.get("id"))] = row
    return [row for name, row in sent.items() if name not in ended]


def spending_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Spending]:
    """Return the sums by operator folder."""
    sums: dict[str, Spending] = {}
    for row in rows:
        if row.get("event") == ENDED:
            folder = str(row["folder"])
            sums[folder] = sums.get(folder, Spending()) + _of_row(row)
    return sums


def _of_row(row: Mapping[str, Any]) -> Spending:
    latency_s = float(row.get("latency_s") or 0.0)
    if row["outcome"] != CallOutcome.ANSWERED.value:
        return Spending(failed_calls=1, latency_s=latency_s)
    counted = row.get("tokens_in") is not None and row.get("tokens_out") is not None
    return Spending(
        calls=1,
        tokens_in=row.get("tokens_in") or 0,
        tokens_out=row.get("tokens_out") or 0,
        tokens_cached=row.get("tokens_cached") or 0,
        uncounted_calls=int(not counted),
        cost_usd=row.get("cost_usd"),
        latency_s=latency_s,
    )
