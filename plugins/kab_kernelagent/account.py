"""The account of a run: every call goes through it, within the limits, at the server's pace, into the ledger."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kab_kernelagent.budget import Budget
from kab_kernelagent.ledger import ENDED, SENT, UNTOLD, taken
from kab_kernelagent.outcome import CallFailedError, CallOutcome, Finish, Reply
from kab_kernelagent.pace import NotWantedError, Pace
from kab_kernelagent.prices import Price, find_price
from kab_kernelagent.providers.choose import Endpoint, endpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kab_kernelagent.budget import Reserved
    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.providers.provider import ModelRequest
    from kab_kernelagent.store import Place, RunStore


class Account:
    """Of one run. Safe for several threads."""

    def __init__(
        self, *, store: RunStore, where: Endpoint, price: Price | None, budget: Budget, pace: Pace
    ) -> None:
        """Take what the calls share; ``opened`` finds it out."""
        self.where = where
        self.budget = budget
        self._store = store
        self._price = price
        self._pace = pace
        self._numbers = itertools.count(1 + sum(row.get("event") == SENT for row in store.ledger()))

    @classmethod
    def opened(cls, options: AgentOptions, store: RunStore) -> Account:
        """Return the account of a run, with what it took before it was interrupted.

        Raises:
            UsageError: a key, a package or a model is missing.
            ConfigError: a file is not a table of prices.
        """
        where = endpoint(options)
        price = find_price(options.model, official=where.official, file=options.prices)
        before = taken(store.ledger())
        return cls(
            store=store,
            where=where,
            price=price,
            budget=Budget(options, price, tokens=before.tokens, cost_usd=before.cost_usd),
            pace=Pace(at_once=options.calls_at_once, per_minute=options.calls_per_minute),
        )

    def make(
        self, place: Place, request: ModelRequest, call: Callable[[], Reply], wanted: Callable[[], bool]
    ) -> Reply:
        """Make one call, and store what came of it: the reply before the ledger.

        Args:
            place: Where the exchange is kept.
            request: What is asked; the reply's identity, and what the limits reckon with.
            call: Asks it.
            wanted: Whether the caller still wants to ask; once sent, a call is waited for.

        Raises:
            CallFailedError: there is no reply.
            OutOfBudgetError: a limit of the run forbids the call.
            NotWantedError: the caller lost interest before the call was sent.
        """
        reserved = self.budget.reserve(request, lambda: not wanted())
        if reserved is None:
            raise NotWantedError
        tokens_in: int | None = 0
        tokens_out: int | None = 0
        cost_usd: float | None = 0.0

        def still_wanted() -> bool:
            self.budget.check_time()
            return wanted()

        try:
            with self._pace.turn(still_wanted):
                facts = self._booked(place, request, reserved, call)
            tokens_in, tokens_out, cost_usd = facts["tokens_in"], facts["tokens_out"], facts["cost_usd"]
            return replace(reply_from_json(facts), text=self._store.redacted(facts["text"]))
        except CallFailedError as error:
            if error.outcome.value in UNTOLD:
                tokens_in = tokens_out = cost_usd = None
            raise
        finally:
            self.budget.settle(reserved, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost_usd)

    def _booked(
        self, place: Place, request: ModelRequest, reserved: Reserved, call: Callable[[], Reply]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"id": f"{next(self._numbers)}", "place": str(place), "folder": place.folder}
        at_most = {"tokens_at_most": reserved.tokens, "cost_at_most_usd": reserved.cost_usd}
        self._store.append_ledger(
            {"event": SENT, **row, "model": request.model, "time": time.time(), **at_most}
        )
        started = time.monotonic()
        try:
            reply = call()
        except CallFailedError as error:
            latency = {"latency_s": time.monotonic() - started}
            self._store.append_ledger(
                {"event": ENDED, **row, "outcome": error.outcome.value, "detail": error.detail, **latency}
            )
            if error.outcome is CallOutcome.RATE_LIMITED:
                self._pace.refused(error.retry_after_s)
            raise
        facts = reply_to_json(reply)
        facts |= {"latency_s": time.monotonic() - started, "cost_usd": self._cost_usd(reply)}
        self._store.write_reply(place, request.to_json(), facts)
        self._store.append_ledger(ended_row(row, facts))
        self._pace.answered()
        return facts

    def _cost_usd(self, reply: Reply) -> float | None:
        if self._price is None or reply.tokens_in is None or reply.tokens_out is None:
            return None
        return self._price.cost_usd(
            tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, tokens_cached=reply.tokens_cached
        )


def ended_row(row: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ledger's row of an answered call from its stored reply."""
    names = ("latency_s", "cost_usd", "tokens_in", "tokens_out", "tokens_cached", "request_id", "finish")
    return {
        "event": ENDED,
        **row,
        "outcome": CallOutcome.ANSWERED.value,
        "model_version": facts.get("model"),
        **{name: facts.get(name) for name in names},
    }


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """Return the stored form of a reply."""
    return {
        "text": reply.text,
        "finish": reply.finish.value,
        "model": reply.model,
        "request_id": reply.request_id,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "tokens_cached": reply.tokens_cached,
    }


def reply_from_json(data: Mapping[str, Any]) -> Reply:
    """Read the stored form of a reply."""
    return Reply(
        text=data["text"],
        finish=Finish(data["finish"]),
        model=data["model"],
        request_id=data["request_id"],
        tokens_in=data["tokens_in"],
        tokens_out=data["tokens_out"],
        tokens_cached=data["tokens_cached"],
    )
