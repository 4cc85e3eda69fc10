"""The registry of input rules: for each operator what its arguments' values must be like, beyond plain numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from kagent_bench.suites.trace.inputs import domains, indices, saved, sequences

if TYPE_CHECKING:
    from kagent_bench.suites.trace.draft import Draft

InputRule: TypeAlias = "Callable[[Draft], None]"

RULES: dict[str, InputRule] = {**domains.RULES, **indices.RULES, **saved.RULES, **sequences.RULES}
"""Rule by the operator's name without overload; the in-place operator ``name_`` shares the rule of ``name``."""


def choose_values(draft: Draft) -> None:
    """Give every storage of a call values that mean something to its operator."""
    base = draft.operator.base
    found = RULES.get(base) or RULES.get(base.removesuffix("_"))
    if found is not None:
        found(draft)
