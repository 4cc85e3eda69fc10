"""Turns drafts for an operator into drafts for its ``out=`` overload: where the result goes, and what lay there before."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import nan, prod
from typing import TYPE_CHECKING, Any

from kagent_bench.model.case import IntegerValues, LiteralValues
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.kinds import is_elementwise
from kagent_bench.suites.recording.literals import encode_floats
from kagent_bench.suites.recording.specification import dtype_name
from kagent_bench.suites.recording.template import (
    DEFAULT_INTEGERS,
    DEFAULT_RANGE,
    New,
    coins,
    contiguous,
    extent,
    permuted,
)
from kagent_bench.suites.recording.trial import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from kagent_bench.model.case import Case, ValueRule
    from kagent_bench.suites.recording.template import Template

OUT = "out"
"""The only such parameter of operators that have one."""

STEP = 2
"""Elements of memory for one of an innermost dimension that is not dense."""

OFFSET = 3
"""Elements of memory before the first one, of which nothing is aligned."""


def writes_to_out(operator: Any) -> bool:
    """Whether results go to keyword arguments, which must then have exactly the result's shape."""
    return any(_is_out(item) for item in operator._schema.arguments)  # noqa: SLF001 - torch offers no other way


def without_out(operator: Any) -> torch._ops.OpOverload | None:
    """Return the overload that computes the same from the same arguments into new memory, None if there is none."""
    wanted = [(item.name, str(item.type)) for item in operator._schema.arguments if item.name != OUT]  # noqa: SLF001
    packet = operator.overloadpacket
    for name in packet.overloads():
        found: torch._ops.OpOverload = getattr(packet, name)
        if [(item.name, str(item.type)) for item in found._schema.arguments] == wanted:  # noqa: SLF001
            return found
    return None


def stripped(case: Case) -> Case:
    """Return a call of an ``out=`` overload as one of the other overload."""
    return replace(case, kwargs=tuple((name, value) for name, value in case.kwargs if name != OUT))


def into_out(
    operator: Any, drafts: Iterator[tuple[str, Template]], first: int
) -> Iterator[tuple[str, Template]]:
    """Yield drafts with a place for the result, another kind of place each time.

    Args:
        operator: the overload that returns new memory.
        drafts: drafts for it.
        first: number of the kind of place to begin with.
    """
    for number, (rule, template) in zip(count(first), drafts, strict=False):
        try:
            (result,) = run(operator, template.arguments)
        except Exception:  # noqa: BLE001, S112 - whatever eager refuses is no case
            continue
        changes = [template.with_tensors({OUT: place}) for place in _places(result)]
        if is_elementwise(operator) and _fits_itself(template, result):
            changes.append(template.with_same({OUT: template.tensors[0][1]}))
        yield rule, changes[number % len(changes)]


def _places(result: torch.Tensor) -> list[New]:
    """Return memory for a result: dense with numbers, then NaN, in it, column-major, strided, and in padded rows."""
    shape, dtype = tuple(result.shape), dtype_name(result.dtype)
    wider = (*shape[:-1], shape[-1] + OFFSET) if shape else ()
    every_second = tuple(STEP * step for step in contiguous(shape))
    column_major = permuted(shape, tuple(reversed(range(len(shape)))))
    return [
        New(shape=shape, dtype=dtype, rule=_stale(dtype, prod(shape))),
        New(shape=shape, dtype=dtype, rule=_not_a_number(dtype, prod(shape))),
        New(shape=shape, stride=column_major, dtype=dtype, rule=_stale(dtype, prod(shape))),
        New(shape=shape, stride=every_second, dtype=dtype, rule=_stale(dtype, extent(shape, every_second))),
        New(
            shape=shape,
            stride=contiguous(wider),
            offset=OFFSET,
            dtype=dtype,
            rule=_stale(dtype, OFFSET + extent(shape, contiguous(wider))),
        ),
    ]


def _stale(dtype: str, numel: int) -> ValueRule:
    if dtype == "bool":
        return LiteralValues(data=coins(numel))
    if is_floating(dtype):
        return DEFAULT_RANGE
    low, high = DEFAULT_INTEGERS
    return IntegerValues(low=0 if dtype.startswith("uint") else low, high=high)


def _not_a_number(dtype: str, numel: int) -> ValueRule:
    return (
        LiteralValues(data=encode_floats([nan] * numel, dtype))
        if is_floating(dtype)
        else _stale(dtype, numel)
    )


def _fits_itself(template: Template, result: torch.Tensor) -> bool:
    """Return whether the result can be written over the first tensor."""
    slot, tensor = template.tensors[0]
    return (
        tensor.shape == tuple(result.shape)
        and template.dtype(slot) == dtype_name(result.dtype)
        and extent(tensor.shape, tensor.stride) >= prod(tensor.shape)
    )


def _is_out(argument: Any) -> bool:
    return bool(argument.kwarg_only and argument.alias_info is not None)
