"""Asks a model again and again until it answers: stored replies first, then calls, repeated where a failure may pass."""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kab_kernelagent.account import reply_from_json
from kab_kernelagent.outcome import PASSING, CallFailedError, CallOutcome
from kab_kernelagent.pace import NotWantedError
from kab_kernelagent.providers.provider import Message, ModelRequest
from kagent_bench.generate.deadline import Raised, Returned, call_within

if TYPE_CHECKING:
    from collections.abc import Callable

    from kab_kernelagent.account import Account
    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.outcome import Reply
    from kab_kernelagent.providers.provider import Provider
    from kab_kernelagent.store import Place, RunStore

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
"""Seconds before the first further try of a call, and at most; each wait doubles the one before."""
_POLL_S = 0.1
_HOPELESS = 3
"""Calls that a server may refuse for good, with no answer to any, before nothing more is asked of it."""


class Caller:
    """Makes the calls of one run. Safe for several threads."""

    def __init__(
        self,
        *,
        store: RunStore,
        provider: Provider,
        options: AgentOptions,
        account: Account,
    ) -> None:
        """Take what the calls share."""
        self._store = store
        self._provider = provider
        self._options = options
        self._account = account
        self._jitter = random.Random()  # noqa: S311 - spreads waits, protects nothing
        self._answered = False
        self._refusals: list[CallFailedError] = []
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the connections; no call may be under way."""
        self._provider.close()

    def ask(self, place: Place, messages: tuple[Message, ...], wanted: Callable[[], bool]) -> Reply:
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
            return reply_from_json(stored)
        self._store.write_request(place, request.to_json())
        return self._tries(place, request, wanted)

    def _tries(self, place: Place, request: ModelRequest, wanted: Callable[[], bool]) -> Reply:
        failed = 0
        while True:
            self._refuse_hopeless()
            try:
                reply = self._account.make(place, request, lambda: self._call(request), wanted)
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

    def _wait(self, error: CallFailedError, failed: int, wanted: Callable[[], bool]) -> None:
        if error.outcome is CallOutcome.RATE_LIMITED:
            return  # the pace makes everybody wait
        own = min(_FIRST_WAIT_S * 2.0 ** (failed - 1), _LONGEST_WAIT_S) * self._jitter.uniform(0.5, 1.0)
        until = time.monotonic() + (own if error.retry_after_s is None else error.retry_after_s)
        while (left := until - time.monotonic()) > 0:
            if not wanted():
                raise NotWantedError
            self._account.budget.check_time()
            time.sleep(min(left, _POLL_S))
