"""What a model's tokens cost: the table ``configs/prices.toml``, and a file of the user's before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagent_bench.config.files import configs_dir, read_toml
from kagent_bench.errors import ConfigError

FILE_NAME = "prices.toml"
_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")
"""Ends the name of a dated version."""
_PER_TOKEN = 1e-6
"""Prices are for a million tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """One model's price."""

    model: str
    input: float
    """US dollars per million tokens sent."""
    cached: float
    """The same for tokens that the provider had in its cache."""
    output: float
    date: str
    """Day of the price, ISO 8601."""
    source: str

    def cost_usd(self, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0) -> float:
        """Return the price of one call; the cached tokens are among those sent."""
        new = max(tokens_in - tokens_cached, 0)
        return _PER_TOKEN * (new * self.input + tokens_cached * self.cached + tokens_out * self.output)


def find_price(model: str, *, official: bool, file: str = "") -> Price | None:
    """Return a model's price, None where it is unknown.

    Args:
        model: The model's name, perhaps of a dated version.
        official: Whether the provider's own server is called: its list says nothing of other servers.
        file: A file of the user's own.

    Raises:
        ConfigError: a file is not a table of prices.
    """
    files = [Path(file)] if file else []
    files += [configs_dir() / FILE_NAME] if official else []
    names = [model, _DATE.sub("", model)]
    for path in files:
        prices = _read(path)
        for name in names:
            if name in prices:
                return prices[name]
    return None


def _read(path: Path) -> dict[str, Price]:
    rows: Any = read_toml(path).get("price", [])
    try:
        prices = [Price(**row) for row in rows]
        if any(not value >= 0 for item in prices for value in (item.input, item.cached, item.output)):
            message = "a price is negative"
            raise ValueError(message)
    except (TypeError, ValueError) as error:
        message = f"{path} is not a table of prices: {error}"
        raise ConfigError(message, hint="see configs/prices.toml for the form") from error
    return {item.model: item for item in prices}
