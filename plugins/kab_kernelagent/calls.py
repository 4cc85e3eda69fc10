"""Makes calls: within the budget, at the server's pace, again where a failure may pass, each one recorded."""

from __future__ import annotations

import itertools
import random
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kab_kernelagent.ledger import ENDED, SENT
from kab_kernelagent.outcome import PASSING, CallFailedError, CallOutcome, Finish, Reply
from kab_kernelagent.pace import NotWantedError
from kab_kernelagent.providers.provider import Message, ModelRequest
from kagent_bench.generate.deadline import Raised, Returned, call_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from kab_kernelagent.budget import Budget
    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.pace import Pace
    from kab_kernelagent.prices import Price
    from kab_kernelagent.providers.provider import Provider
    from kab_kernelagent.store import Place, RunStore

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
"""Seconds before the first further try of a call, and at most; each wait doubles the one before."""
_POLL_S = 0.1
_HOPELESS = 3
"""Calls that a server may refuse for good, with no answer to any, before nothing more is asked of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply, and whether it was stored before."""

    reply: Reply
    stored: bool


class Caller:
    """Makes the calls of one run. Safe for several threads."""

    def __init__(
        self,
        *,
        store: RunStore,
        provider: Provider,
        options: AgentOptions,
        price: Price | None,
        budget: Budget,
        pace: Pace,
    ) -> None:
        """Take what the calls share."""
        self._store = store
        self._provider = provider
        self._options = options
        self._price = price
        self._budget = budget
        self._pace = pace
        self._numbers = itertools.count(1 + sum(row.get("event") == SENT for row in store.ledger()))
        self._jitter = random.Random()  # noqa: S311 - spreads waits, protects nothing
        self._answered = False
        self._refusals: list[CallFailedError] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections; no call may be under way."""
        self._provider.close()

    def ask(self, place: Place, messages: tuple[Message, ...], wanted: Callable[[], bool]) -> Answer:
        """Return the reply to a dialogue: the stored one where the very same was asked before.

        Args:
            place: Where the exchange is kept.
            messages: The dialogue; secrets are taken out of it.
            wanted: Whether the caller still wants to ask; once sent, a call is waited for.

        Raises:
            CallFailedError: there is no reply.
            OutOfBudgetError: a limit of the run forbids the call.
            NotWantedError: the caller lost interest before the call was sent.
        """
        options = self._options
        request = ModelRequest(
            provider=self._provider.name,
            model=options.model,
            messages=tuple(replace(item, text=self._store.redacted(item.text)) for item in messages),
            temperature=None if options.temperature < 0 else options.temperature,
            reasoning_effort=options.reasoning_effort,
            reply_tokens=options.reply_tokens,
        )
        stored = self._store.find_reply(place, request.to_json())
        if stored is not None:
            return Answer(reply=reply_from_json(stored), stored=True)
        self._store.write_request(place, request.to_json())
        return Answer(reply=self._tries(place, request, wanted), stored=False)

    def _tries(self, place: Place, request: ModelRequest, wanted: Callable[[], bool]) -> Reply:
        failed = 0
        while True:
            self._refuse_hopeless()
            try:
                reply = self._once(place, request, wanted)
            except CallFailedError as error:
                if error.outcome not in PASSING:
                    with self._lock:
                        self._refusals.append(error)
                    raise
                # A refusal for the rate costs no try: it says when to come back, and time limits the waiting.
                failed += error.outcome is not CallOutcome.RATE_LIMITED
                if failed > self._options.retries:
                    raise
                self._wait(error, failed, wanted)
            else:
                self._answered = True
                return reply

    def _refuse_hopeless(self) -> None:
        with self._lock:
            for error in self._refusals:
                if error.outcome is CallOutcome.UNAUTHORISED or (
                    len(self._refusals) >= _HOPELESS and not self._answered
                ):
                    raise error

    def _once(self, place: Place, request: ModelRequest, wanted: Callable[[], bool]) -> Reply:
        reserved = self._budget.reserve(request, lambda: not wanted())
        if reserved is None:
            raise NotWantedError
        tokens_in, tokens_out, cost = 0, 0, 0.0
        try:
            with self._pace.turn(wanted):
                reply, cost_usd = self._recorded(place, request)
                tokens_in, tokens_out, cost = reply.tokens_in or 0, reply.tokens_out or 0, cost_usd or 0.0
                return reply
        finally:
            self._budget.settle(reserved, tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost)

    def _recorded(self, place: Place, request: ModelRequest) -> tuple[Reply, float | None]:
        """Make one call and record how it ended, the reply before the ledger."""
        row: dict[str, Any] = {"id": f"{next(self._numbers)}", "place": str(place), "folder": place.folder}
        self._store.append_ledger({"event": SENT, **row, "model": request.model, "time": time.time()})
        started = time.monotonic()
        try:
            reply = self._call(request)
        except CallFailedError as error:
            self._store.append_ledger(
                {
                    "event": ENDED,
                    **row,
                    "outcome": error.outcome.value,
                    "detail": error.detail,
                    "latency_s": time.monotonic() - started,
                }
            )
            if error.outcome is CallOutcome.RATE_LIMITED:
                self._pace.refused(error.retry_after_s if error.retry_after_s is not None else _FIRST_WAIT_S)
            raise
        cost = self._cost(reply)
        facts = reply_to_json(reply) | {"latency_s": time.monotonic() - started, "cost_usd": cost}
        self._store.write_reply(place, request.to_json(), facts)
        self._store.append_ledger(ended_row(row, facts))
        self._pace.answered()
        return replace(reply, text=self._store.redacted(reply.text)), cost

    def _call(self, request: ModelRequest) -> Reply:
        given_up = threading.Event()
        limit_s = self._options.call_timeout
        # The client's own limit is for silence; a server that sends a byte now and then would never meet it.
        answer = call_within(
            lambda: self._provider.call(request, limit_s, given_up.is_set), limit_s, name="language model"
        )
        if isinstance(answer, Returned):
            return answer.value
        given_up.set()
        if isinstance(answer, Raised):
            if isinstance(answer.error, CallFailedError):
                raise answer.error
            raise CallFailedError(CallOutcome.BROKEN, f"{type(answer.error).__name__}: {answer.error}")
        raise CallFailedError(CallOutcome.TIMEOUT, f"no complete reply within {limit_s:g} s")

    def _cost(self, reply: Reply) -> float | None:
        if self._price is None or reply.tokens_in is None or reply.tokens_out is None:
            return None
        return self._price.cost_usd(
            tokens_in=reply.tokens_in, tokens_out=reply.tokens_out, tokens_cached=reply.tokens_cached
        )

    def _wait(self, error: CallFailedError, failed: int, wanted: Callable[[], bool]) -> None:
        if error.outcome is CallOutcome.RATE_LIMITED:
            return  # the pace makes everybody wait
        own = min(_FIRST_WAIT_S * 2.0 ** (failed - 1), _LONGEST_WAIT_S) * self._jitter.uniform(0.5, 1.0)
        until = time.monotonic() + (own if error.retry_after_s is None else error.retry_after_s)
        while (left := until - time.monotonic()) > 0:
            if not wanted():
                raise NotWantedError
            self._budget.check_time()
            time.sleep(min(left, _POLL_S))


def ended_row(row: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
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


def reply_from_json(data: dict[str, Any]) -> Reply:
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
