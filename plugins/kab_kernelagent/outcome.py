"""How a call to a language model can end: an answer, or a failure that is never a kernel's fault."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class CallOutcome(str, Enum):
    """How one call ended."""

    ANSWERED = "answered"
    """There is a reply; what it is worth is another question."""
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    """No complete reply within the time limit of a call."""
    CONNECTION = "connection"
    """The server could not be reached, or hung up."""
    BROKEN = "broken"
    """A reply that is not in the provider's format."""
    UNAUTHORISED = "unauthorised"
    """The key is refused, or may not use the model."""
    BAD_REQUEST = "bad_request"
    """The server cannot do what was asked: unknown model, prompt too long, unknown parameter."""
    LOST = "lost"
    """The program was killed before the reply was stored."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


PASSING = frozenset(
    {
        CallOutcome.RATE_LIMITED,
        CallOutcome.SERVER_ERROR,
        CallOutcome.TIMEOUT,
        CallOutcome.CONNECTION,
        CallOutcome.BROKEN,
    }
)
"""Failures that may be gone the next time."""


class Finish(str, Enum):
    """Why the model stopped writing."""

    STOP = "stop"
    """It had said all."""
    LENGTH = "length"
    """The reply reached its limit of tokens, or ours of characters."""
    REFUSED = "refused"
    """The model or the provider's filter would not answer."""
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a provider answered."""

    text: str
    finish: Finish
    model: str
    """The model that answered, by the provider's word: a version where a family was asked for."""
    request_id: str
    """The provider's name for the call; empty where it gives none."""
    tokens_in: int | None
    """None where the provider does not tell."""
    tokens_out: int | None
    tokens_cached: int = 0


class CallFailedError(Exception):
    """A call without an answer."""

    def __init__(self, outcome: CallOutcome, detail: str, *, retry_after_s: float | None = None) -> None:
        """Take how it failed, the reason in words, and the seconds that the server asks to wait."""
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.retry_after_s = retry_after_s
