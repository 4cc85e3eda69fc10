"""Rules for normalisations: rows, groups and channels of many sizes, with their weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from kagent_bench.suites.recording.template import New, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.suites.recording.template import Shape, Slot, Template

LAYERS: tuple[tuple[Shape, int], ...] = (
    ((7, 257), 1),
    ((3, 1031), 1),
    ((61, 17), 1),
    ((4, 5, 6), 2),
    ((4, 5, 6), 3),
    ((5, 1), 1),
    ((2, 3, 65), 1),
    ((0, 5), 1),
    ((129,), 1),
)
"""Shapes of an input, and how many of its last dimensions are normalised."""

GROUPS: tuple[tuple[Shape, int], ...] = (
    ((2, 6, 5), 3),
    ((3, 4, 7), 1),
    ((2, 8, 65), 2),
    ((1, 6, 3, 5), 6),
    ((5, 4, 1), 2),
    ((2, 3, 257), 3),
    ((1, 2, 515), 1),
)
"""Shapes of an input, and the number of groups of its channels."""

CHANNELS: tuple[Shape, ...] = (
    (5, 3),
    (4, 7, 9),
    (2, 3, 5, 7),
    (129, 3),
    (2, 1, 257),
    (3, 2, 521),
    (3, 11, 1, 5),
    (2, 3, 2, 3, 2),
)
"""Shapes of an input whose second dimension is that of the channels."""

INPUTS = frozenset({"grad_out", "input"})
STATISTICS = frozenset({"mean", "rstd"})


def layers(template: Template) -> Iterator[Template]:
    """Rows of the last dimensions; every other input is not contiguous."""
    for number, (shape, n_last) in enumerate(LAYERS):
        last = shape[-n_last:]
        yield _with(template, _input(shape, number), last).with_value("normalized_shape", last)


def groups(template: Template) -> Iterator[Template]:
    """Groups of channels."""
    for number, (shape, n_groups) in enumerate(GROUPS):
        changed = _with(template, _input(shape, number), shape[1:2])
        for name, value in (("N", shape[0]), ("C", shape[1]), ("HxW", prod(shape[2:])), ("group", n_groups)):
            changed = changed.with_value(name, value)
        yield changed


def channels(template: Template) -> Iterator[Template]:
    """Channels of the second dimension, in training and not."""
    for number, shape in enumerate(CHANNELS):
        changed = _with(template, _input(shape, number), shape[1:2])
        yield changed
        if "training" in template.flags and template.value_of("running_mean") is not None:
            yield changed.with_value("training", not template.value_of("training"))


def _input(shape: Shape, number: int) -> New:
    if number % 2 and len(shape) > 1:
        return New(shape=shape, stride=permuted(shape, (*range(1, len(shape)), 0)))
    return New(shape=shape)


def _with(template: Template, new: New, weights: Shape) -> Template:
    statistics = (*new.shape[: len(new.shape) - len(weights)], *[1] * len(weights))
    tensors: dict[Slot, New] = {}
    for slot, _ in template.tensors:
        name = template.parameter(slot)
        shape = statistics if name in STATISTICS else weights
        tensors[slot] = new if name in INPUTS else New(shape=shape)
    return template.with_tensors(tensors)
