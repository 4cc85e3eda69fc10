"""Smaller calls of the same sort, to try out on a small machine what only a GPU's memory holds.

Nothing is judged on these: a kernel is never given other shapes than those of its case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.call import Arguments, TracedCall, TracedTensor
from kagent_bench.suites.trace.windows import fewer_windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kagent_bench.suites.aten import Schema
    from kagent_bench.suites.trace.call import TracedValue

BATCH = 2
"""What a large first dimension becomes."""
CAP = 32
"""What is kept of other dimensions; those that differ still do."""
SIZES = frozenset(
    """
    size sizes shape self_size input_sizes input_size output_size normalized_shape num_weights N C HxW group groups
    split_size split_sizes stride storage_offset num_classes
    """.split()
)
"""Arguments that hold sizes, or strides, which are products of sizes."""
WEIGHTS = frozenset("weight bias bias_sizes running_mean running_var save_mean save_invstd save_var".split())
"""Arguments that have no batch."""
STRIDES_OF_MEMORY = frozenset(["as_strided", "as_strided_", "new_empty_strided", "empty_strided"])
"""Operators whose ``stride`` is one of memory; elsewhere it is a step of a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """A smaller call."""

    call: TracedCall
    alike: bool
    """Whether it is large enough to tell something of the values, and not only whether it runs."""


def reductions(call: TracedCall, schema: Schema) -> Iterator[Reduction]:
    """Yield smaller calls that may do, the most alike first; whether an operator takes one must be tried."""
    first = next((tensor for tensor in call.arguments.tensors() if tensor.shape), None)
    batched = [call]
    if first is not None and first.shape[0] > BATCH:
        every = _batched(call, schema, first.shape[0], spared=frozenset())
        # A batch may be as large as what a weight is of.
        without_weights = _batched(call, schema, first.shape[0], spared=WEIGHTS)
        batched = [without_weights, every] if without_weights != every else [every]
        yield from (Reduction(call=smaller, alike=True) for smaller in batched)
    for smaller in batched:
        yield Reduction(call=_resized(smaller, schema, _capped(smaller)), alike=True)
    for smaller in batched:
        windows = fewer_windows(smaller, schema)
        if windows is not None:
            yield Reduction(call=windows, alike=True)
    yield Reduction(call=_resized(batched[-1], schema, _odd), alike=False)
    yield Reduction(call=_resized(call, schema, _odd), alike=False)


def _positional(schema: Schema) -> list[str]:
    return [argument.name for argument in schema.arguments if not argument.kwarg_only]


def _resized(call: TracedCall, schema: Schema, smaller: Callable[[int], int]) -> TracedCall:
    """Change every size: equal ones stay equal; under ``_odd``, products of sizes stay products."""
    names = SIZES if call.operator.base in STRIDES_OF_MEMORY else SIZES - {"stride"}

    def value(item: TracedValue, *, is_size: bool) -> TracedValue:
        if isinstance(item, TracedTensor):
            return item.resized(tuple(map(smaller, item.shape)))
        if isinstance(item, tuple):
            return tuple(value(each, is_size=is_size) for each in item)
        return smaller(item) if is_size and isinstance(item, int) and not isinstance(item, bool) else item

    return replace(
        call,
        arguments=Arguments(
            tuple(
                value(item, is_size=name in names)
                for name, item in zip(_positional(schema), call.arguments.args, strict=False)
            ),
            tuple((name, value(item, is_size=name in names)) for name, item in call.arguments.kwargs),
        ),
    )


def _capped(call: TracedCall) -> Callable[[int], int]:
    """Return what makes the sizes of a call's tensors small and keeps their order."""
    sizes = {size for tensor in call.arguments.tensors() for size in tensor.shape}
    large = sorted(size for size in sizes if size > CAP)
    places = {size: place for place, size in enumerate(large, start=CAP + 1)}
    return lambda size: places.get(size, min(size, CAP))


def _odd(number: int) -> int:
    """Divide by all factors of two."""
    return number >> ((number & -number).bit_length() - 1) if number > 0 else number


def _batched(call: TracedCall, schema: Schema, batch: int, *, spared: frozenset[str]) -> TracedCall:
    """Make the first dimension of every tensor that shares it, and of every list of sizes, a short one.

    Args:
        call: the call.
        schema: its operator's.
        batch: the first dimension.
        spared: arguments that stay as they are.
    """

    def value(name: str, item: TracedValue) -> TracedValue:
        if name in spared:
            return item
        if isinstance(item, TracedTensor) and item.shape[:1] == (batch,):
            return replace(item, shape=(BATCH, *item.shape[1:]))
        if isinstance(item, tuple):
            whole = name in SIZES | WEIGHTS and item[:1] == (batch,)
            return (BATCH, *item[1:]) if whole else tuple(value(name, each) for each in item)
        return item

    return replace(
        call,
        arguments=Arguments(
            tuple(
                value(name, item)
                for name, item in zip(_positional(schema), call.arguments.args, strict=False)
            ),
            tuple((name, value(name, item)) for name, item in call.arguments.kwargs),
        ),
    )
