"""Filters on single cases besides dtype filters: model, count, size, part; and how many of them are left in the end."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from kagent_bench.model.selection import OperatorCases, SkippedCase

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kagent_bench.config.schema import SelectionSettings
    from kagent_bench.model.case import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Cases that are kept, and those that are not, with the reason."""

    kept: tuple[Case, ...]
    skipped: tuple[SkippedCase, ...]


def narrow(item: OperatorCases, settings: SelectionSettings) -> OperatorCases:
    """Skip the cases of an operator that the settings do not want; each is skipped with its reason."""
    return _split(item, lambda case: _reason(case, settings))


def largest(item: OperatorCases, settings: SelectionSettings) -> OperatorCases:
    """Keep the ``top_n`` cases with the most bytes of inputs, in the order that they have."""
    if not settings.top_n:
        return item
    ranked = sorted(item.cases, key=lambda case: (-case.input_bytes, case.id))
    kept = {case.id for case in ranked[: settings.top_n]}
    reason = f"not among the {settings.top_n} largest of the operator"
    return _split(item, lambda case: None if case.id in kept else reason)


def limited(item: OperatorCases, limit: int) -> OperatorCases:
    """Keep the first ``limit`` cases of each dtype, all with 0: a suite has its most telling ones first."""
    if not limit:
        return item
    seen: Counter[str] = Counter()

    def reason(case: Case) -> str | None:
        seen[case.dtype] += 1
        return None if seen[case.dtype] <= limit else f"more than {limit} cases of the operator and dtype"

    return _split(item, reason)


def sampled(items: Sequence[OperatorCases], settings: SelectionSettings) -> tuple[OperatorCases, ...]:
    """Keep ``sample`` cases of all operators together, drawn by the seed: the same ones wherever they are drawn."""
    if not settings.sample:
        return tuple(items)
    ranked = sorted(
        (case.id for item in items for case in item.cases),
        key=lambda name: hashlib.sha256(f"{settings.sample_seed}:{name}".encode()).digest(),
    )
    kept = set(ranked[: settings.sample])
    reason = f"not among the {settings.sample} sampled cases"
    return tuple(_split(item, lambda case: None if case.id in kept else reason) for item in items)


def _reason(case: Case, settings: SelectionSettings) -> str | None:
    """Return why a case is not wanted; None if it is."""
    wanted = settings.traced_model
    if wanted and not any(
        fnmatchcase(source.model, pattern) for source in case.sources for pattern in wanted
    ):
        return f"no call of the models {', '.join(wanted)}"
    if case.count < settings.min_count:
        return f"recorded less than {settings.min_count} times"
    if case.input_bytes < settings.min_bytes:
        return f"less than {settings.min_bytes} bytes of inputs"
    if settings.max_bytes and case.input_bytes > settings.max_bytes:
        return f"more than {settings.max_bytes} bytes of inputs"
    if settings.split != "all" and case.held_out != (settings.split == "held_out"):
        return f"not in the part '{settings.split}'"
    return None


def _split(item: OperatorCases, reason_of: Callable[[Case], str | None]) -> OperatorCases:
    part = _parted(item.cases, reason_of)
    return replace(item, cases=part.kept, skipped=(*item.skipped, *part.skipped)) if part.skipped else item


def _parted(cases: Iterable[Case], reason_of: Callable[[Case], str | None]) -> _Part:
    kept: list[Case] = []
    skipped: list[SkippedCase] = []
    for case in cases:
        reason = reason_of(case)
        if reason is None:
            kept.append(case)
        else:
            skipped.append(SkippedCase(case=case, reason=reason))
    return _Part(kept=tuple(kept), skipped=tuple(skipped))
