"""How numbers are written for people; storage is always SI and unrounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

NOTHING = "n/a"
"""What stands for a number that does not exist."""
_MINUTE_S = 60.0
_KIBI = 1024
_PERCENT_DIGIT = 0.1
"""Percentages are shown to this digit."""


def percentage(share: float | None) -> str:
    """Write a share of 1 as a percentage: ``100%`` and ``0%`` only for all and nothing."""
    if share is None or math.isnan(share):
        return NOTHING
    if share in {0.0, 1.0}:
        return f"{share * 100:.0f}%"
    rounded = round(share * 100, 1)
    return f"{min(max(rounded, _PERCENT_DIGIT), 100 - _PERCENT_DIGIT):.1f}".removesuffix(".0") + "%"


def part_of(part: int, whole: int) -> str:
    """Write a part of a whole with its percentage: ``38/40 (95%)``."""
    return f"{part}/{whole} ({percentage(part / whole if whole else None)})"


def ratio(value: float | None) -> str:
    """Write a speedup with three significant digits: ``1.25x``."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{_significant(value)}x"


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """Write a speedup with the interval that it lies in: ``1.25x [1.24, 1.27]``."""
    if value is None or low is None or high is None:
        return ratio(value)
    return f"{ratio(value)} [{_significant(low)}, {_significant(high)}]"


def score(value: float | None) -> str:
    """Write a mean score with BackendBench's two digits."""
    return NOTHING if value is None or math.isnan(value) else f"{value:.2f}"


def money(value: float | None) -> str:
    """Write US dollars, to the hundredth of a cent below one dollar; ``unknown`` where a price is not known."""
    if value is None:
        return "unknown"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def magnitude(value: float | None) -> str:
    """Write the size of an error: ``1.2e-07``; ``0`` only for exactly nothing."""
    if value is None:
        return NOTHING
    return "0" if value == 0 else f"{value:.2g}"


def seconds(value: float | None) -> str:
    """Write a duration in the unit that a person would choose: ``850 ns``, ``3.4 ms``, ``2 min 5 s``."""
    if value is None or math.isnan(value):
        return NOTHING
    if value >= _MINUTE_S:
        minutes, rest = divmod(round(value), 60)
        return f"{minutes} min {rest} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{_significant(value / size)} {unit}"
    return f"{_significant(value / 1e-9)} ns"


def byte_size(value: float | None) -> str:
    """Write a size in binary units: ``16 MiB``."""
    if value is None:
        return NOTHING
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < _KIBI:
            return f"{_significant(size)} {unit}"
        size /= _KIBI
    return f"{_significant(size)} TiB"


def rates(figures: Mapping[str, Any]) -> str:
    """Write measured rates: ``4.3 TB/s; float16 790 TFLOP/s``."""
    products = [
        f"{name} {_significant(rate / 1e12)} TFLOP/s" for name, rate in figures["flops_per_s"].items()
    ]
    return "; ".join([f"{_significant(figures['bytes_per_s'] / 1e12)} TB/s", *products])


def _significant(value: float) -> str:
    """Write three significant digits without an exponent where that stays short."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
