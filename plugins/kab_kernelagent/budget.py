"""The limits of a run: money, tokens, time. A call is made only if even its dearest outcome keeps them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.prices import Price
    from kab_kernelagent.providers.provider import ModelRequest

_CHARS_PER_TOKEN = 2.0
"""Fewest characters that a token of a prompt stands for on average: code in common tokenizers has 3 to 4."""
_POLL_S = 0.05
"""Seconds between two looks at whether a waiting caller is still wanted."""


class OutOfBudgetError(Exception):
    """The run's limit is reached; nothing more is to be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """What a call may take at most."""

    tokens: int
    cost_usd: float
    tokens_in: int
    """Those of ``tokens`` that are sent."""


class Budget:
    """The run's account. Safe for several threads."""

    def __init__(self, options: AgentOptions, price: Price | None, *, tokens: int, cost_usd: float) -> None:
        """Open the account.

        Args:
            options: ``max_tokens``, ``max_cost`` and ``run_time_limit``; 0 for no limit.
            price: The model's price.
            tokens: What the run has taken before it was interrupted.
            cost_usd: The same in US dollars.
        """
        self._max_tokens, self._max_cost = options.max_tokens, options.max_cost
        self._price = price
        self._tokens, self._cost = tokens, cost_usd
        self._reserved_tokens, self._reserved_cost = 0, 0.0
        self._calls = 0
        self._scale = 1.0
        self._changed = threading.Condition()
        limit = options.run_time_limit
        self._deadline = time.monotonic() + limit if limit else None

    def check_time(self) -> None:
        """Refuse to go on when the run's time is up.

        Raises:
            OutOfBudgetError: it is.
        """
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise OutOfBudgetError("the run's time limit (--run-time-limit) is reached")

    def reserve(self, request: ModelRequest, unwanted: Callable[[], bool]) -> Reserved | None:
        """Set aside what a call may take at most; waits while only calls under way are in the way of it.

        Args:
            request: The call.
            unwanted: Whether the caller has lost interest.

        Returns:
            What is set aside, to be given back with ``settle``; None when the caller lost interest.

        Raises:
            OutOfBudgetError: the limit does not allow the call.
        """
        dearest = self._dearest(request)
        with self._changed:
            while True:
                self.check_time()
                if unwanted():
                    return None
                complaint = self._complaint(dearest, with_reserved=True)
                if complaint is None:
                    self._reserved_tokens += dearest.tokens
                    self._reserved_cost += dearest.cost_usd
                    self._calls += 1
                    return dearest
                if self._calls == 0 or self._complaint(dearest, with_reserved=False):
                    raise OutOfBudgetError(complaint)
                self._changed.wait(_POLL_S)

    def settle(
        self, reserved: Reserved, *, tokens_in: int | None, tokens_out: int | None, cost_usd: float | None
    ) -> None:
        """Replace what was set aside by what the call took; where that is unknown (None), all of it counts."""
        untold = tokens_in is None or tokens_out is None
        tokens = reserved.tokens if untold else (tokens_in or 0) + (tokens_out or 0)
        with self._changed:
            self._reserved_tokens -= reserved.tokens
            self._reserved_cost -= reserved.cost_usd
            self._calls -= 1
            self._tokens += tokens
            self._cost += reserved.cost_usd if cost_usd is None else cost_usd
            if tokens_in is not None and tokens_in > reserved.tokens_in:
                # The model's tokens are shorter than expected: later calls reckon with it.
                self._scale *= tokens_in / reserved.tokens_in
            self._changed.notify_all()

    def _dearest(self, request: ModelRequest) -> Reserved:
        sent = 1 + int(self._scale * sum(len(item.text) for item in request.messages) / _CHARS_PER_TOKEN)
        cost = self._price.cost_usd(tokens_in=sent, tokens_out=request.reply_tokens) if self._price else 0.0
        return Reserved(tokens=sent + request.reply_tokens, cost_usd=cost, tokens_in=sent)

    def _complaint(self, dearest: Reserved, *, with_reserved: bool) -> str | None:
        tokens = self._tokens + (self._reserved_tokens if with_reserved else 0)
        cost = self._cost + (self._reserved_cost if with_reserved else 0.0)
        if self._max_tokens and tokens + dearest.tokens > self._max_tokens:
            return (
                f"{self._tokens} of {self._max_tokens} tokens (--max-tokens) are used; "
                f"one more call may take {dearest.tokens}"
            )
        if self._max_cost and cost + dearest.cost_usd > self._max_cost:
            return (
                f"{self._cost:.4f} of {self._max_cost:g} USD (--max-cost) are used; "
                f"one more call may take {dearest.cost_usd:.4f}"
            )
        return None
