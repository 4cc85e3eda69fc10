"""What a language model's work on one operator took: calls, tokens, money."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Sums over the calls made for one operator."""

    calls: int = 0
    """Calls that were answered."""
    failed_calls: int = 0
    """Calls that were not: refused, timed out, broken, or lost when the program was killed."""
    tokens_in: int = 0
    """Tokens sent, cached ones included."""
    tokens_out: int = 0
    tokens_cached: int = 0
    """Those of ``tokens_in`` that the provider had in its cache."""
    uncounted_calls: int = 0
    """Answered calls whose tokens the provider did not tell."""
    cost_usd: float | None = 0.0
    """US dollars; None where a price or a count is unknown."""
    latency_s: float = 0.0
    """Seconds of waiting, over all calls."""

    def __add__(self, other: Spending) -> Spending:
        """Return both together; an unknown cost stays unknown."""
        unknown = self.cost_usd is None or other.cost_usd is None
        return Spending(
            calls=self.calls + other.calls,
            failed_calls=self.failed_calls + other.failed_calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            tokens_cached=self.tokens_cached + other.tokens_cached,
            uncounted_calls=self.uncounted_calls + other.uncounted_calls,
            cost_usd=None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0),
            latency_s=self.latency_s + other.latency_s,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spending:
        """Read the JSON form.

        Raises:
            TypeError: the data is no spending.
        """
        return cls(**data)


def total(items: Iterable[Spending]) -> Spending:
    """Return the sum."""
    result = Spending()
    for item in items:
        result += item
    return result
