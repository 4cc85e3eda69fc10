"""The ledger of a run: one row when a call is sent and one when it ended, and the sums over them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_kernelagent.outcome import CallOutcome
from kagent_bench.model.spending import Spending

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SENT, ENDED = "sent", "ended"


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
