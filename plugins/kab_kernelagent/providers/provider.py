"""What a provider is: one call in, one reply or one failure out, no retries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kab_kernelagent.outcome import Reply

SYSTEM, USER, ASSISTANT = "system", "user", "assistant"
MAX_REPLY_CHARS = 1_000_000
"""Characters of a reply that are kept: forty times the largest kernel that the benchmarks know, and no more than
a disk and a pattern search bear for every call."""


def count(value: object) -> int | None:
    """Return a number of tokens that a server tells, None where it is none: limits are kept by these numbers."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a dialogue."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call, complete: the same request is the same call."""

    provider: str
    model: str
    messages: tuple[Message, ...]
    temperature: float | None
    reasoning_effort: str
    reply_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, of which the identity is made."""
        return {
            "provider": self.provider,
            "model": self.model,
            "temperature": self.temperature,
            "reasoning_effort": self.reasoning_effort,
            "reply_tokens": self.reply_tokens,
            "messages": [{"role": item.role, "content": item.text} for item in self.messages],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarded:
    """An answer to another client's call."""

    text: str
    """The body as it came."""
    reply: Reply
    """What it says: of several choices the first one's text."""


class Provider(Protocol):
    """Makes calls; used by several threads at once."""

    name: str

    def call(self, request: ModelRequest, timeout_s: float, given_up: Callable[[], bool]) -> Reply:
        """Make one call.

        Args:
            request: What is asked.
            timeout_s: Seconds that the connection may be silent.
            given_up: Whether nobody waits for the reply any more; asked between the pieces of a stream.

        Raises:
            CallFailedError: there is no reply.
        """
        ...

    def forward(self, body: Mapping[str, Any], timeout_s: float) -> Forwarded:
        """Make another client's call.

        Args:
            body: As that client would send it to the provider.
            timeout_s: Seconds that the connection may be silent.

        Raises:
            CallFailedError: there is no reply; its cause has the provider's answer where there was one.
        """
        ...

    def close(self) -> None:
        """Close the connections; no call may be under way."""
        ...
