"""Results of ``setup`` and ``generate`` as plain text: their counts, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kagent_bench.cli.console import columns


def setup_words(result: Mapping[str, Any]) -> str:
    """Return the text for the JSON form of a ``SetupResult``."""
    return _counts(result)


def generate_words(result: Mapping[str, Any]) -> str:
    """Return the text for the JSON form of a ``GenerateSummary``."""
    return _counts(result)


def _counts(result: Mapping[str, Any]) -> str:
    rows: list[tuple[str, ...]] = []
    for name, value in result.items():
        if isinstance(value, str | int | float):
            rows.append((name, str(value)))
        elif isinstance(value, Mapping) and all(isinstance(count, int) for count in value.values()):
            rows.append((name, ", ".join(f"{count} {word}" for word, count in value.items())))
    return columns(rows, indent="")
