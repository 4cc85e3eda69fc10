"""When the next call may start: so many at a time, so many a minute, and none while the server asks to wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MINUTE_S = 60.0
_POLL_S = 0.1
"""Seconds between two looks at whether a waiting caller is still wanted."""
_SLOWER, _FASTER = 0.7, 1.03
"""After a refusal for its rate, what the rate of starts is multiplied by; and after each answer, until the next."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
"""Seconds of waiting after a refusal that asks for no time: the first, which doubles with each further one, and the
longest."""
_DOUBLINGS = 10
_PATIENCE = 8
"""Refusals in a row, with no answer between, after which the server's own times are not believed any more."""
_FLOOR = 1 / 60
"""Fewest starts a second that refusals can lead to: one a minute."""


class NotWantedError(Exception):
    """The caller lost interest while it waited."""


class Pace:
    """Shared by all callers of one server. Safe for several threads.

    A server that refuses calls for their rate is obeyed by all callers at once: nobody starts until the time that
    it asked for has passed, and the starts are spread at a rate that is learnt from its refusals and answers, so
    that the callers do not come back together only to be refused again.
    """

    def __init__(self, *, at_once: int, per_minute: float) -> None:
        """Take the user's own limits.

        Args:
            at_once: Calls that wait for an answer at a time.
            per_minute: Calls started in a minute; 0 for no limit.
        """
        self._free = at_once
        self._limit = per_minute / _MINUTE_S if per_minute else None
        self._rate = self._limit
        self._next_start = 0.0
        self._wait_over = 0.0
        self._refusals = 0
        self._answered_since = 0
        self._first_start: float | None = None
        self._started = 0
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, wanted: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn and hold it while the call is made.

        Raises:
            NotWantedError: the caller lost interest before its turn came.
        """
        with self._changed:
            while True:
                if not wanted():
                    raise NotWantedError
                wait = self._next_start - time.monotonic()
                if self._free > 0 and wait <= 0:
                    break
                self._changed.wait(min(max(wait, 0.0) or _POLL_S, _POLL_S))
            self._free -= 1
            now = time.monotonic()
            self._first_start = self._first_start or now
            self._started += 1
            if self._rate is not None:
                # From when the turn was due, not from now: waking up late must not cost throughput.
                due = max(self._next_start, now - 1 / self._rate)
                self._next_start = due + 1 / self._rate
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()

    def refused(self, wait_s: float | None) -> None:
        """Tell of a refusal for the rate of calls: nobody starts for a while.

        Args:
            wait_s: What the server asks for; None where it does not ask. A server that goes on refusing after the
                time that it asked for is waited for longer and longer, too.
        """
        with self._changed:
            now = time.monotonic()
            if now >= self._wait_over:  # else it started together with one that was refused
                self._refusals += 1
            own = min(_FIRST_WAIT_S * 2.0 ** min(self._refusals - 1, _DOUBLINGS), _LONGEST_WAIT_S)
            wait = own if not wait_s else max(wait_s, own if self._refusals > _PATIENCE else 0.0)
            self._wait_over = now + wait
            self._next_start = max(self._next_start, self._wait_over)
            elapsed = now - (self._first_start or now)
            observed = self._started / elapsed if elapsed > 1 else None
            if self._rate is None:
                self._rate = observed
            elif self._answered_since:
                # Refusals of calls that started together count once.
                self._rate = max(self._rate * _SLOWER, _FLOOR)
            self._answered_since = 0

    def answered(self) -> None:
        """Tell of an answer: where refusals have slowed the pace, it may grow again."""
        with self._changed:
            self._answered_since += 1
            self._refusals = 0
            if self._rate is not None and (self._limit is None or self._rate < self._limit):
                grown = self._rate * _FASTER
                self._rate = grown if self._limit is None else min(grown, self._limit)
