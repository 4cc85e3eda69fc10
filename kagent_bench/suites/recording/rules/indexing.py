"""Rules for operators that take places: indices over the whole range, repeated or each once, in any layout."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kagent_bench.model.case import IntegerValues, LiteralValues
from kagent_bench.suites.recording.template import New, contiguous, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import ValueRule
    from kagent_bench.suites.recording.template import Shape, Slot, Template

ALONG = frozenset(["gather", "scatter", "scatter_add", "scatter_reduce"])
"""Operators whose index has as many dimensions as the first tensor."""

ROWS = frozenset(["index_add", "index_copy", "index_fill", "index_reduce", "index_select"])
"""Operators whose index is a vector of places along one dimension."""

LOOKUPS = frozenset(["embedding"])
"""Operators whose index of any shape names rows of a table."""

EACH_ONCE = frozenset(["index_copy", "scatter"])
"""Operators that keep one of several elements for one place: which one is nobody's promise."""

ALONG_SHAPES: tuple[tuple[Shape, int, Shape], ...] = (
    ((37, 5), 0, (11, 4)),
    ((5, 37), -1, (3, 20)),
    ((3, 5, 7), -2, (3, 4, 7)),
    ((3, 5, 7), 0, (2, 5, 6)),
    ((257,), 0, (129,)),
    ((1031,), -1, (41,)),
    ((3, 61), 1, (3, 61)),
    ((17, 65), 1, (17, 65)),
    ((5, 4), 1, (0, 4)),
    ((), 0, ()),
    ((9, 9), 0, (9, 9)),
)
"""Shapes of the first tensor, the dimension, and shapes of the index, which may be smaller elsewhere too."""

ROW_SHAPES: tuple[tuple[Shape, int, int], ...] = (
    ((37, 5), 0, 11),
    ((5, 37), -1, 20),
    ((3, 5, 7), -2, 4),
    ((257,), 0, 129),
    ((1031,), -1, 300),
    ((2, 3, 5, 7), 1, 3),
    ((5, 4), 1, 0),
    ((0, 4), 1, 3),
    ((), 0, 1),
    ((17, 65), 1, 64),
)
"""Shapes of the first tensor, the dimension, and the number of places."""

TABLES: tuple[tuple[Shape, Shape], ...] = (
    ((37, 5), (11,)),
    ((5, 37), (3, 7)),
    ((7, 257), (4,)),
    ((129, 3), (2, 3, 5)),
    ((6, 4), ()),
    ((6, 4), (0, 3)),
    ((6, 1), (300,)),
    ((3, 1031), (2,)),
)
"""Shapes of a table and of the indices into it."""

MANY_PLACES: tuple[Shape, Shape] = ((41, 31), (9, 131))
"""The same, for more elements than a block of 1,024."""

WIDER = 2
"""Elements by which a source may be larger than the index in each dimension."""


def along(template: Template, *, once: bool) -> Iterator[Template]:
    """Places along one dimension, for as many elements as the index has; sources may be larger."""
    index, source = template.slot("index"), template.slot("src")
    if index is None:
        return
    first = template.tensors[0][0]
    for number, (shape, dim, places) in enumerate(ALONG_SHAPES):
        tensors: dict[Slot, New] = {first: New(shape=shape), index: _places(shape, dim, places, number, once)}
        if source is not None and source in dict(template.tensors):
            wider = tuple(size + WIDER * (number % 2) for size in places)
            tensors[source] = New(shape=wider)
        yield template.with_tensors(tensors).with_value("dim", dim)


def rows(template: Template, *, once: bool) -> Iterator[Template]:
    """A vector of places along one dimension, with a source of as many slices."""
    index, source = template.slot("index"), template.slot("source")
    if index is None:
        return
    first = template.tensors[0][0]
    for number, (shape, dim, n_places) in enumerate(ROW_SHAPES):
        tensors: dict[Slot, New] = {
            first: New(shape=shape, stride=_turned(shape) if number % 3 == 1 else None),
            index: _places(shape, dim, (n_places,), number, once),
        }
        if source is not None and shape:
            tensors[source] = New(shape=_with_size(shape, dim, n_places))
        yield template.with_tensors(tensors).with_value("dim", dim)


def lookups(template: Template) -> Iterator[Template]:
    """Tables of several shapes, with indices of several shapes and both widths."""
    indices = template.slot("indices")
    if indices is None:
        return
    for number, (table, shape) in enumerate(TABLES):
        rule = IntegerValues(low=0, high=table[0] - 1)
        stride = _turned(shape) if number % 2 else None
        dtype = "int32" if number % 3 == 1 else None
        yield template.with_tensors(
            {
                template.tensors[0][0]: New(shape=table, stride=_turned(table) if number % 3 == 0 else None),
                indices: New(shape=shape, stride=stride, dtype=dtype, rule=rule),
            }
        )


def summed(template: Template) -> Iterator[Template]:
    """Gradients of the rows that were looked up, in tables of several shapes, most rows more than once or never."""
    indices = template.slot("indices")
    if indices is None:
        return
    for number, (table, shape) in enumerate(TABLES):
        grown = (*shape, table[1])
        tensors = {
            template.tensors[0][0]: New(shape=grown, stride=_turned(grown) if number % 2 else None),
            indices: New(shape=shape, rule=IntegerValues(low=0, high=table[0] - 1)),
        }
        changed = template.with_tensors(tensors).with_value("num_weights", table[0])
        yield changed.with_value("padding_idx", -1)
        yield changed.with_value("padding_idx", 1).with_value("scale_grad_by_freq", number % 2 == 0)


def put(template: Template) -> Iterator[Template]:
    """Elements for places of the first tensor as if it were flat, each place once, or added up."""
    index, source = template.slot("index"), template.slot("source")
    if index is None or source is None:
        return
    for number, (table, shape) in enumerate(TABLES):
        numel, places = prod(table), prod(shape)
        if 0 < places <= numel:
            once = LiteralValues(data=_each_once(numel, (places,), 0, number))
            tensors = {
                template.tensors[0][0]: New(shape=table, stride=_turned(table) if number % 2 else None),
                index: New(shape=shape, rule=once),
                source: New(shape=shape),
            }
            yield template.with_tensors(tensors).with_value("accumulate", value=False)
            tensors[index] = New(shape=shape, rule=IntegerValues(low=-numel, high=numel - 1))
            yield template.with_tensors(tensors).with_value("accumulate", value=True)


def taken(template: Template) -> Iterator[Template]:
    """Places of the first tensor as if it were flat, from either end."""
    index = template.slot("index")
    if index is None:
        return
    for number, (table, shape) in enumerate((*TABLES, MANY_PLACES)):
        numel = prod(table)
        yield template.with_tensors(
            {
                template.tensors[0][0]: New(shape=table, stride=_turned(table) if number % 2 else None),
                index: New(shape=shape, rule=IntegerValues(low=-numel, high=numel - 1)),
            }
        )


def _places(shape: Shape, dim: int, places: Shape, number: int, once: bool) -> New:  # noqa: FBT001 - a rule's own
    size = shape[dim] if shape else 1
    stride = _turned(places) if number % 2 else None
    if number % 4 == 2 and len(places) > 1:  # noqa: PLR2004 - neither the first nor a transposed one
        stride = (*contiguous(places)[:-1], 0)
    rule: ValueRule | None = None
    if 0 not in places:
        rule = IntegerValues(low=0, high=max(size, 1) - 1)
    if once and 0 not in places:
        stride, rule = None, LiteralValues(data=_each_once(size, places, dim, number))
    return New(shape=places, stride=stride, rule=rule, dtype="int64")


def _each_once(size: int, places: Shape, dim: int, seed: int) -> bytes:
    """Return 64-bit indices that name no place twice along a dimension, in an order of no pattern."""
    generator = np.random.Generator(np.random.PCG64(seed))
    if not places:
        return np.zeros(1, dtype="<i8").tobytes()
    axis = dim if len(places) > 1 else 0
    order = generator.random(_with_size(places, axis, size)).argsort(axis=axis)
    return np.ascontiguousarray(order.take(range(places[axis]), axis=axis).astype("<i8")).tobytes()


def _with_size(shape: Shape, dim: int, size: int) -> Shape:
    axis = dim % len(shape)
    return (*shape[:axis], size, *shape[axis + 1 :])


def _turned(shape: Shape) -> Shape:
    return permuted(shape, tuple(reversed(range(len(shape)))))
