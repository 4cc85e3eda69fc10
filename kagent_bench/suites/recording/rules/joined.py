"""Rules for operators on lists of tensors: how many, of which sizes, along which dimension, in which layouts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from kagent_bench.model.case import IntegerValues, LiteralValues, StorageSpec, TensorSpec
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_integers
from kagent_bench.suites.recording.template import (
    DEFAULT_INTEGERS,
    DEFAULT_RANGE,
    coins,
    contiguous,
    extent,
    permuted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kagent_bench.model.case import Value, ValueRule
    from kagent_bench.suites.recording.template import Shape, Template

CONCATENATED: tuple[tuple[tuple[Shape, ...], int], ...] = (
    (((3, 5), (4, 5)), 0),
    (((3, 5), (3, 7), (3, 1)), 1),
    (((2, 3, 5), (2, 4, 5)), -2),
    (((257,), (129,), (1025,)), 0),
    (((3, 5), (3, 6)), -1),
    (((0, 5), (3, 5)), 0),
    (((7, 9),), 0),
    (((2, 3, 5, 7), (2, 1, 5, 7), (2, 2, 5, 7)), 1),
    (((3, 300), (2, 300)), -2),
    (((300, 3), (300, 2)), 1),
)
"""Shapes of the tensors, and the dimension along which they differ."""

STACKED: tuple[tuple[int, Shape, int], ...] = (
    (2, (3, 5), 0),
    (3, (3, 5), 1),
    (2, (3, 5), 2),
    (2, (3, 5), -1),
    (4, (3, 5), -2),
    (3, (257,), 1),
    (2, (1025,), 0),
    (3, (), 0),
    (1, (7, 9), -3),
    (2, (0, 3), 1),
    (5, (2, 3, 5), -2),
)
"""How many tensors, their shape, and the new dimension."""

Index: TypeAlias = "tuple[Shape, tuple[int, ...], str] | None"

INDEXED: tuple[tuple[Shape, tuple[Index, ...], Shape], ...] = (
    ((7, 5), (((3,), (6, 0, -2), "int64"),), (3, 5)),
    ((7, 5), (None, ((4,), (4, -5, 2, 1), "int64")), (7, 4)),
    ((7, 5), (((3,), (0, 6, 3), "int64"), ((3,), (4, -1, 0), "int64")), (3,)),
    ((7, 5), (((2, 1), (5, -1), "int64"), ((3,), (4, 0, 2), "int64")), (2, 3)),
    ((3, 4, 5), (((2,), (2, 0), "int64"), None, ((2,), (1, -1), "int64")), (2, 4)),
    ((3, 4, 5), (None, ((2,), (3, 0), "int64"), ((2,), (1, -2), "int64")), (3, 2)),
    ((5,), (((5,), (1, 0, 0, 1, 1), "bool"),), (3,)),
    ((3, 4, 5), (((2, 2), (0, 2, -2, 0), "int64"),), (2, 2, 4, 5)),
    ((300,), (((3,), (299, -300, 150), "int64"),), (3,)),
    ((9, 2), (((4,), (8, 1, -9, 3), "int32"),), (4, 2)),
    ((1031,), (((521,), tuple(37 * place % 1031 for place in range(521)), "int64"),), (521,)),
    ((67, 19), (((65,), tuple(29 * place % 67 for place in range(65)), "int64"),), (65, 19)),
)
"""Shapes of a tensor, the indices into it (shape, elements, dtype), and the shape of what they select."""

OTHER_DTYPES = ("float64", "float16", "int64", "int32", "bool")


def concatenated(template: Template, dtype: str) -> Iterator[Template]:
    """Lists of tensors that differ along the dimension."""
    for shapes, dim in CONCATENATED:
        yield _call(template, shapes, dim, dtype)
        yield _call(template, shapes, dim, dtype, turned=True)


def stacked(template: Template, dtype: str) -> Iterator[Template]:
    """Lists of equal tensors and a new dimension."""
    for number, shape, dim in STACKED:
        yield _call(template, (shape,) * number, dim, dtype)
        yield _call(template, (shape,) * number, dim, dtype, turned=True)


def mixed_dtypes(template: Template, dtype: str) -> Iterator[Template]:
    """Tensors of two dtypes, in either order."""
    for other in OTHER_DTYPES:
        if other != dtype:
            yield _call(template, ((3, 5), (3, 5)), 0, dtype, other)
            yield _call(template, ((3, 5), (3, 5)), 1, other, dtype)


def repeated(template: Template, dtype: str) -> Iterator[Template]:
    """The same tensor several times."""
    once = _call(template, ((3, 5),), 0, dtype)
    tensor = TensorSpec(storage=0, shape=(3, 5), stride=(5, 1))
    for dim in (0, 1):
        yield replace(once, arguments=replace(once.arguments, args=((tensor,) * 3, dim)))


def indexed(template: Template, dtype: str, *, put: bool) -> Iterator[Template]:
    """Lists of tensors of indices, some left out, that broadcast; negative ones, and masks.

    Args:
        template: any call.
        dtype: dtype of the first tensor.
        put: whether values are put there, each place once, rather than taken.
    """
    for number, (shape, indices, result) in enumerate(INDEXED):
        turned = permuted(shape, tuple(reversed(range(len(shape))))) if number % 2 else contiguous(shape)
        numel = extent(shape, turned)
        storages = [StorageSpec(dtype=dtype, numel=numel, rule=_values(dtype, numel))]
        args: list[Value] = [TensorSpec(storage=0, shape=shape, stride=turned)]
        given: list[Value] = []
        for index in indices:
            if index is None:
                given.append(None)
                continue
            places, values, kind = index
            data = encode_integers(values, kind)
            given.append(TensorSpec(storage=len(storages), shape=places, stride=contiguous(places)))
            storages.append(StorageSpec(dtype=kind, numel=len(values), rule=LiteralValues(data=data)))
        args.append(tuple(given))
        if put:
            args.append(TensorSpec(storage=len(storages), shape=result, stride=contiguous(result)))
            storages.append(StorageSpec(dtype=dtype, numel=prod(result), rule=_values(dtype, prod(result))))
        for accumulate in (False, True) if put else (None,):
            full = args if accumulate is None else [*args, accumulate]
            arguments = replace(template.arguments, args=tuple(full), kwargs=(), storages=tuple(storages))
            yield replace(template, arguments=arguments)


def _call(
    template: Template, shapes: Sequence[Shape], dim: int, *dtypes: str, turned: bool = False
) -> Template:
    storages, tensors = [], []
    for index, shape in enumerate(shapes):
        dtype = dtypes[index % len(dtypes)]
        order = tuple(reversed(range(len(shape))))
        stride = permuted(shape, order) if turned and index % 2 == 0 else contiguous(shape)
        offset = index if turned else 0
        numel = offset + extent(shape, stride)
        storages.append(StorageSpec(dtype=dtype, numel=numel, rule=_values(dtype, numel)))
        tensors.append(TensorSpec(storage=index, shape=shape, stride=stride, offset=offset))
    arguments = replace(template.arguments, args=(tuple(tensors), dim), kwargs=(), storages=tuple(storages))
    return replace(template, arguments=arguments)


def _values(dtype: str, numel: int) -> ValueRule:
    if dtype == "bool":
        return LiteralValues(data=coins(numel))
    if is_floating(dtype):
        return DEFAULT_RANGE
    low, high = DEFAULT_INTEGERS
    return IntegerValues(low=max(low, 0) if dtype.startswith("uint") else low, high=high)


OPERATORS: dict[str, dict[str, Callable[..., Iterator[Template]]]] = {
    "cat": {"sizes": concatenated, "mixed_dtypes": mixed_dtypes, "repeated": repeated},
    "index": {"places": partial(indexed, put=False)},
    "index_put": {"places": partial(indexed, put=True)},
    "index_put_": {"places": partial(indexed, put=True)},
    "stack": {"sizes": stacked, "repeated": repeated},
}
"""Rules by operator."""
