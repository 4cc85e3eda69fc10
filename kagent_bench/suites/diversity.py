"""Orders the cases of an operator so that any first few are as different as they can be."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from kagent_bench.model.call_text import is_contiguous
from kagent_bench.model.case import LiteralValues, TensorSpec, UniformValues

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from kagent_bench.model.case import Case, Value

BLOCK = 1024
"""Elements that one program of a typical elementwise kernel handles; larger tensors need several."""

SMALL = 32
"""Elements that fit in one warp."""


def order_cases(recorded: Sequence[Case], derived: Sequence[Case]) -> list[Case]:
    """Return all cases, recorded and derived ones in turn, each the most different one that is left.

    Deterministic: equal gains go to the earlier case, so recorded cases should come in the order of origins.
    """
    first, second = _by_gain(recorded), _by_gain(derived)
    ordered: list[Case] = []
    for index in range(max(len(first), len(second))):
        ordered += first[index : index + 1] + second[index : index + 1]
    return ordered


def _by_gain(cases: Sequence[Case]) -> list[Case]:
    """Order greedily by the number of features not seen before (lazily: gains only ever shrink)."""
    features = [_features(case) for case in cases]
    seen: set[Hashable] = set()
    heap = [(-len(found), index) for index, found in enumerate(features)]
    heapq.heapify(heap)
    ordered = []
    while heap:
        promised, index = heapq.heappop(heap)
        gain = len(features[index] - seen)
        if -promised != gain:
            heapq.heappush(heap, (-gain, index))
            continue
        ordered.append(cases[index])
        seen |= features[index]
    return ordered


def _features(case: Case) -> frozenset[Hashable]:
    found: set[Hashable] = {("origin", case.origin)}
    shapes: list[tuple[int, ...]] = []
    storages: list[int] = []
    named: list[tuple[Hashable, Value]] = [*enumerate(case.args), *case.kwargs]
    for place, value in named:
        for item in _flat(value):
            if isinstance(item, TensorSpec):
                found |= set(_tensor_features(case, place, item))
                shapes.append(item.shape)
                storages.append(item.storage)
            else:
                found.add(("argument", place, repr(item)))
    found.add(("aliasing", len(storages) != len(set(storages))))
    found.add(("ranks", tuple(len(shape) for shape in shapes)))
    found.add(("broadcast", tuple(shape == shapes[0] for shape in shapes)))
    return frozenset(found)


def _flat(value: Value) -> Iterator[Value]:
    if isinstance(value, tuple) and any(isinstance(item, TensorSpec) for item in value):
        yield from value
    else:
        yield value


def _tensor_features(case: Case, place: Hashable, tensor: TensorSpec) -> Iterator[Hashable]:
    storage = case.storages[tensor.storage]
    numel = 1
    for size in tensor.shape:
        numel *= size
    size_class = sum(numel > limit for limit in (0, 1, SMALL, BLOCK))
    yield "rank", place, len(tensor.shape)
    yield "size", place, size_class
    yield "dtype", place, storage.dtype
    yield "layout", place, is_contiguous(tensor.shape, tensor.stride), 0 in tensor.stride, tensor.offset > 0
    yield "values", place, _values_class(storage.rule)


def _values_class(rule: object) -> Hashable:
    if isinstance(rule, LiteralValues):
        return "literal"
    return "uniform", rule.low < 0 if isinstance(rule, UniformValues) else None
