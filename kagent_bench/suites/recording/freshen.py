"""Replaces literal floating-point values by a rule for fresh ones, where the operator bears it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kagent_bench.model.case import UniformValues
from kagent_bench.suites.recording.elements import is_floating, special_values, used_elements
from kagent_bench.suites.recording.structure import is_structured
from kagent_bench.suites.recording.trial import Output, attempt, is_sound

if TYPE_CHECKING:
    from kagent_bench.suites.recording.specification import Arguments

N_DRAWS = 2
"""Fresh draws under which the operator must succeed."""

N_DRAWS_SMALL = 6
"""The same where some storage is small: a few elements avoid the edge of a domain by chance."""

REPRESENTATIVE = 8
"""Elements from which on a storage's own range says where its values come from."""

DIGITS = 4
"""Significant digits of a range, rounded inwards so that it stays in the sample's domain."""

Ranges = dict[str, UniformValues]
"""Range of the plain values at each argument place of an operator, over all of its calls."""


def pooled_ranges(calls: Iterable[tuple[Arguments, str]]) -> Ranges:
    """Return the range of plain floating-point values at each argument place, list elements together.

    Direct calls and storages of many elements say best what an operator is meant for: others count only at
    places where there are no such.

    Args:
        calls: arguments and origins of all recorded calls of one operator.
    """
    pools: dict[str, dict[int, UniformValues]] = {}
    for arguments, origin in calls:
        plain = _plain_ranges(arguments)
        for item in arguments.tensors():
            found = plain.get(item.tensor.storage)
            if found is not None:
                large = arguments.storages[item.tensor.storage].numel >= REPRESENTATIVE
                trust = 2 * (origin == "direct") + large
                pool = pools.setdefault(item.place, {})
                known = pool.get(trust, found)
                pool[trust] = UniformValues(low=min(known.low, found.low), high=max(known.high, found.high))
    return {place: pool[max(pool)] for place, pool in pools.items()}


def freshen(operator: Any, arguments: Arguments, ranges: Ranges) -> Arguments | None:
    """Return the call with as many fresh storages as eager bears; None if it fails even as recorded."""
    shown = attempt(operator, arguments, seed=0)
    if shown is None:
        return None
    rules = _candidates(arguments, ranges)
    if not rules:
        return arguments
    together = _with_rules(arguments, rules)
    if _bears(operator, together, shown):
        return together
    if len(rules) == 1:
        return arguments
    fresh = arguments
    for index, rule in rules.items():
        longer = _with_rules(fresh, {index: rule})
        if _bears(operator, longer, shown):
            fresh = longer
    return fresh


def _bears(operator: Any, arguments: Arguments, shown: tuple[Output, ...]) -> bool:
    fresh = [item.numel for item in arguments.storages if isinstance(item.rule, UniformValues)]
    n_draws = N_DRAWS if min(fresh, default=0) >= REPRESENTATIVE else N_DRAWS_SMALL
    return all(is_sound(attempt(operator, arguments, seed), shown) for seed in range(1, n_draws + 1))


def _with_rules(arguments: Arguments, rules: dict[int, UniformValues]) -> Arguments:
    storages = tuple(
        replace(storage, rule=rules[index]) if index in rules else storage
        for index, storage in enumerate(arguments.storages)
    )
    return replace(arguments, storages=storages)


def _candidates(arguments: Arguments, ranges: Ranges) -> dict[int, UniformValues]:
    rules: dict[int, UniformValues] = {}
    structured: set[int] = set()
    plain = _plain_ranges(arguments)
    for item in arguments.tensors():
        index = item.tensor.storage
        storage = arguments.storages[index]
        own = plain.get(index)
        if own is None or is_structured(item.tensor, storage):
            structured.add(index)
            continue
        pooled = ranges.get(item.place)
        chosen = own if storage.numel >= REPRESENTATIVE or pooled is None else pooled
        if chosen.low < chosen.high:
            rules.setdefault(index, _rounded(chosen))
    return {index: rule for index, rule in rules.items() if index not in structured}


def _plain_ranges(arguments: Arguments) -> dict[int, UniformValues]:
    """Return the range of each storage whose used values are plain floating-point ones."""
    ranges = {}
    for index, views in arguments.views().items():
        storage = arguments.storages[index]
        if not is_floating(storage.dtype) or storage.numel == 0:
            continue
        values = used_elements(views, storage)
        if values is not None and values.size and not special_values(values):
            ranges[index] = UniformValues(low=float(values.min()), high=float(values.max()))
    return ranges


def _rounded(rule: UniformValues) -> UniformValues:
    low = _towards(rule.low, up=True)
    high = _towards(rule.high, up=False)
    return UniformValues(low=low, high=high) if low < high else rule


def _towards(value: float, *, up: bool) -> float:
    if value == 0:
        return 0.0
    scale = 10.0 ** (DIGITS - 1 - math.floor(math.log10(abs(value))))
    if not math.isfinite(scale) or scale == 0:
        return value
    return (math.ceil if up else math.floor)(value * scale) / scale
