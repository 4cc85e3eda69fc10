"""The judge that a generator is given: counts, stores each attempt at once, and falls silent when time is up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias

from kagent_bench.hooks.protocols import Attempt
from kagent_bench.model.verdict import OperatorVerdict

Judge: TypeAlias = Callable[[str], Attempt]

_USABLE = 1
_RANKS = {OperatorVerdict.CORRECT.value: 2, OperatorVerdict.NOT_JUDGED.value: _USABLE, None: _USABLE}


class OutOfAttemptsError(Exception):
    """The generator asked for more judgements than it may have."""


class OutOfTimeError(Exception):
    """The generator was abandoned; nobody listens to it any more."""


def rank(verdict: str | None) -> int:
    """Return how good a kernel of this verdict is: correct > not judged (None: not asked) > anything else."""
    # An enumeration's member is not found under its own word.
    return _RANKS.get(None if verdict is None else str(verdict), 0)


def usable(verdict: str | None) -> bool:
    """Return whether a kernel of this verdict is not known to be wrong."""
    return rank(verdict) >= _USABLE


class RecordingJudge:
    """Judges for one operator. Safe for several threads, as a generator may use them."""

    def __init__(self, make_judge: Callable[[], Judge], keep: Callable[[Attempt], None], limit: int) -> None:
        """Build no judge yet: most generators of simple kernels never ask.

        Args:
            make_judge: Builds the judge of this operator, at the first question.
            keep: Stores an attempt.
            limit: Judgements that the generator may have.
        """
        self._make_judge = make_judge
        self._keep = keep
        self._limit = limit
        self._asked = 0
        self._judge: Judge | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._attempts: list[Attempt] = []

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What was judged, oldest first."""
        with self._lock:
            return tuple(self._attempts)

    def __call__(self, source: str) -> Attempt:
        """Judge a source text for the generator.

        Raises:
            OutOfAttemptsError: the generator has had all its attempts.
            OutOfTimeError: the generator's time is up.
        """
        with self._lock:
            if self._asked >= self._limit and not self._closed:
                message = f"all {self._limit} attempts are used up"
                raise OutOfAttemptsError(message)
            self._asked += 1
        return self.judge(source)

    def judge(self, source: str) -> Attempt:
        """Judge a source text, without counting.

        Raises:
            OutOfTimeError: the generator's time is, or was meanwhile, up.
        """
        with self._lock:
            self._refuse_if_closed()
            if self._judge is None:
                self._judge = self._make_judge()
            judge = self._judge
        attempt = judge(source)
        with self._lock:
            self._refuse_if_closed()
            self._attempts.append(attempt)
            self._keep(attempt)
        return attempt

    def verdict_of(self, source: str) -> str | None:
        """Return the verdict that a source text got, None if it was not judged."""
        verdicts = [attempt.verdict for attempt in self.attempts if attempt.source == source]
        return max(verdicts, key=rank, default=None)

    def close(self) -> None:
        """Answer nobody any more; a judgement that is under way is dropped."""
        with self._lock:
            self._closed = True

    def _refuse_if_closed(self) -> None:
        if self._closed:
            message = "the time limit has passed"
            raise OutOfTimeError(message)
