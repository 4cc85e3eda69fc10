"""Orders the cases of an operator so that any first few are as different as they can be."""

from __future__ import annotations

import heapq
from math import isfinite, prod
from typing import TYPE_CHECKING, TypeAlias

from kagent_bench.model.call_text import is_contiguous
from kagent_bench.model.case import LiteralValues, TensorSpec, Value
from kagent_bench.suites.recording.elements import special_values, used_elements
from kagent_bench.suites.recording.specification import Arguments

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from kagent_bench.model.case import Case

Features: TypeAlias = "frozenset[Hashable]"

BLOCK = 1024
"""Elements that one program of a typical elementwise kernel handles; larger tensors need several."""

LONG = 100
"""Size from which on a dimension is long: a kernel with small blocks needs several along it."""

SMALL = 32
"""Elements that fit in one warp."""

LARGE = 1 << 15
"""Elements from which on an index needs more than 16 bits."""

FIRST_ORIGINS = ("direct", "smoke")
"""Origins whose cases come first, as long as they show something new."""


def order_cases(recorded: Sequence[Case], derived: Sequence[Case]) -> list[Case]:
    """Return all cases, two derived ones after each recorded one, each the most different one that is left.

    Deterministic: equal gains go to the earlier case, so recorded cases should come in the order of origins.
    """
    first, second = _sorted(recorded), _sorted(derived)
    ordered: list[Case] = []
    for index in range(max(len(first), len(second))):
        ordered += first[index : index + 1] + second[2 * index : 2 * index + 2]
    return ordered


def _sorted(cases: Sequence[Case]) -> list[Case]:
    found = [
        features(Arguments(args=case.args, kwargs=case.kwargs, storages=case.storages), case.origin)
        for case in cases
    ]
    return [cases[index] for index in by_gain(found)]


def by_gain(all_features: Sequence[Features]) -> list[int]:
    """Return indices ordered greedily by the number of features not seen before.

    Direct cases with something new come before all others. Lazy: gains only ever shrink, so an entry whose
    promise still holds when it comes up is the best one.
    """
    seen: set[Hashable] = set()

    def rank(index: int) -> tuple[bool, bool, int, int]:
        gain = len(all_features[index] - seen)
        others = ("origin", "first") not in all_features[index]
        return gain == 0, others, -gain, index

    heap = [rank(index) for index in range(len(all_features))]
    heapq.heapify(heap)
    ordered = []
    while heap:
        promised = heapq.heappop(heap)
        current = rank(promised[-1])
        if current != promised:
            heapq.heappush(heap, current)
            continue
        ordered.append(promised[-1])
        seen |= all_features[promised[-1]]
    return ordered


def features(arguments: Arguments, origin: str) -> Features:
    """Return what a call shows: origin, ranks, sizes, dtypes, layouts, values, broadcasting, aliasing.

    A call without elements shows nothing but that, whatever its shape: its result has no values to compare.
    """
    empty = tuple(prod(item.tensor.shape) == 0 for item in arguments.tensors())
    if any(empty):
        return frozenset({("empty", empty)})
    found: set[Hashable] = {("origin", "first" if origin in FIRST_ORIGINS else origin)}
    named: list[tuple[Hashable, Value]] = [*enumerate(arguments.args), *arguments.kwargs]
    single = all(prod(item.tensor.shape) == 1 for item in arguments.tensors())
    found |= {
        ("argument", place, _argument_class(value), single)
        for place, value in named
        if not _has_tensors(value)
    }
    shapes = []
    views = arguments.views()
    for index, tensors in views.items():
        storage = arguments.storages[index]
        literal = isinstance(storage.rule, LiteralValues)
        special = special_values(used_elements(tensors, storage)) if literal else frozenset()
        found |= {("values", index, item) for item in special} | {("dtype", index, storage.dtype)}
    for item in arguments.tensors():
        shapes.append(item.tensor.shape)
        found |= set(_tensor_features(item.place, item.tensor))
    found.add(("aliasing", any(len(tensors) > 1 for tensors in views.values())))
    found.add(("ranks", tuple(len(shape) for shape in shapes)))
    found.add(("broadcast", tuple(shape == shapes[0] for shape in shapes)))
    return frozenset(found)


def _has_tensors(value: Value) -> bool:
    if isinstance(value, tuple):
        return any(isinstance(item, TensorSpec) for item in value)
    return isinstance(value, TensorSpec)


def _argument_class(value: Value) -> Hashable:
    """Return an argument itself, or for floating-point numbers what they have in common."""
    if isinstance(value, float):
        if not isfinite(value):
            return repr(value)
        return "float", value > 0, value == 0, value == round(value) if abs(value) < BLOCK else False
    return repr(value)


def _tensor_features(place: str, tensor: TensorSpec) -> Iterator[Hashable]:
    numel = prod(tensor.shape)
    yield "rank", place, len(tensor.shape)
    yield "size", place, sum(numel > limit for limit in (0, 1, SMALL, BLOCK, LARGE))
    yield "long", place, tuple(index - len(tensor.shape) for index, n in enumerate(tensor.shape) if n > LONG)
    yield "layout", place, is_contiguous(tensor.shape, tensor.stride), 0 in tensor.stride, tensor.offset > 0
