"""Says in a few lines which calls of a suite's data make no case."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SHOWN = 3
"""Operators that a line names; all are counted."""


def left_out_notes(counts: Iterable[tuple[object, Mapping[str, int]]]) -> tuple[str, ...]:
    """Return one line for each reason, the most frequent first.

    Args:
        counts: operators with the number of their calls by reason.
    """
    by_reason: dict[str, Counter[str]] = defaultdict(Counter)
    for operator, reasons in counts:
        for reason, count in reasons.items():
            by_reason[reason][str(operator)] += count
    lines = []
    for reason, operators in sorted(by_reason.items(), key=lambda item: (-item[1].total(), item[0])):
        named = ", ".join(name for name, _ in operators.most_common(SHOWN))
        more = f" and {len(operators) - SHOWN} more operators" if len(operators) > SHOWN else ""
        lines.append(f"{operators.total()} calls of {named}{more} make no case: {reason}")
    return tuple(lines)
