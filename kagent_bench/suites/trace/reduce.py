"""Smaller calls of the same sort, to try out on a small machine what only a GPU's memory holds.

Nothing is judged on these: a kernel is never given other shapes than those of its case.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.call import Arguments, TracedCall, TracedTensor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.suites.aten import Schema
    from kagent_bench.suites.trace.call import TracedValue

BATCH = 2
"""What a large first dimension becomes."""
SIZES = frozenset(
    """
    size sizes shape self_size input_sizes input_size output_size normalized_shape num_weights N C HxW group
    split_size split_sizes stride storage_offset num_classes
    """.split()
)
"""Arguments that hold sizes, or strides, which are products of sizes."""
STRIDES_OF_MEMORY = frozenset(["as_strided", "as_strided_", "new_empty_strided", "empty_strided"])
"""Operators whose ``stride`` is one of memory; elsewhere it is a step of a window."""


def reductions(call: TracedCall, schema: Schema) -> Iterator[TracedCall]:
    """Yield smaller calls that may do, the most alike first; whether an operator takes one must be tried."""
    first = next((tensor for tensor in call.arguments.tensors() if tensor.shape), None)
    if first is not None and first.shape[0] > BATCH:
        yield _batched(call, first.shape[0])
    yield _without_twos(call, schema)


def _without_twos(call: TracedCall, schema: Schema) -> TracedCall:
    """Divide every size and stride by all its factors of two, under which products of sizes stay products."""
    positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    names = SIZES if call.operator.base in STRIDES_OF_MEMORY else SIZES - {"stride"}

    def value(item: TracedValue, *, is_size: bool) -> TracedValue:
        if isinstance(item, TracedTensor):
            stride = None if item.stride is None else tuple(map(_odd, item.stride))
            return replace(item, shape=tuple(map(_odd, item.shape)), stride=stride)
        if isinstance(item, tuple):
            return tuple(value(each, is_size=is_size) for each in item)
        return _odd(item) if is_size and isinstance(item, int) and not isinstance(item, bool) else item

    return replace(
        call,
        arguments=Arguments(
            tuple(
                value(item, is_size=name in names)
                for name, item in zip(positional, call.arguments.args, strict=False)
            ),
            tuple((name, value(item, is_size=name in names)) for name, item in call.arguments.kwargs),
        ),
    )


def _odd(number: int) -> int:
    return number >> ((number & -number).bit_length() - 1) if number > 0 else number


def _batched(call: TracedCall, batch: int) -> TracedCall:
    """Make the first dimension of every tensor that shares it, and of every list of sizes, a short one."""

    def value(item: TracedValue) -> TracedValue:
        if isinstance(item, TracedTensor) and item.shape[:1] == (batch,):
            return replace(item, shape=(BATCH, *item.shape[1:]))
        if isinstance(item, tuple):
            whole = item[:1] == (batch,) and not isinstance(item[0], bool)
            return (BATCH, *item[1:]) if whole else tuple(value(each) for each in item)
        return item

    return replace(
        call,
        arguments=Arguments(
            tuple(value(item) for item in call.arguments.args),
            tuple((name, value(item)) for name, item in call.arguments.kwargs),
        ),
    )
