"""Rules that change how tensors lie in memory: transposed, strided, expanded, offset, channels last, aliased."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kagent_bench.model.case import TensorSpec
from kagent_bench.suites.recording.template import New, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.suites.recording.template import Template

MATRIX = (33, 31)
VECTOR = (517,)
IMAGE = (2, 3, 5, 7)
CHANNELS_LAST = (0, 2, 3, 1)
STEP = 2
"""Stride of a strided vector: every second element."""
FAR_ROWS = (3, 5)
FAR = 20_011
"""Elements between rows: the third one starts beyond 2^15."""
OFFSET = 3
"""Elements before a view's first one: no alignment is left."""


def transposed(template: Template) -> Iterator[Template]:
    """All tensors column-major; then each alone, the others row-major."""
    column_major = New(shape=MATRIX, stride=permuted(MATRIX, (1, 0)))
    slots = [slot for slot, _ in template.tensors]
    yield template.with_tensors(dict.fromkeys(slots, column_major))
    if len(slots) > 1:
        for chosen in slots:
            mixed = {slot: column_major if slot == chosen else New(shape=MATRIX) for slot in slots}
            yield template.with_tensors(mixed)


def strided(template: Template) -> Iterator[Template]:
    """Every second element of a storage, columns of wider rows, and rows so far apart that 16 bits do not tell."""
    slots = [slot for slot, _ in template.tensors]
    yield template.with_tensors(dict.fromkeys(slots, New(shape=VECTOR, stride=(STEP,))))
    padded = New(shape=MATRIX, stride=(MATRIX[1] + OFFSET, 1))
    yield template.with_tensors(dict.fromkeys(slots, padded))
    yield template.with_tensors(dict.fromkeys(slots, New(shape=FAR_ROWS, stride=(FAR, 1))))


def expanded(template: Template) -> Iterator[Template]:
    """Each tensor in turn with a stride of zero, along the outer and along the inner dimension."""
    slots = [slot for slot, _ in template.tensors]
    for chosen in slots:
        for stride in ((0, 1), (1, 0)):
            changed = {slot: New(shape=MATRIX) for slot in slots}
            changed[chosen] = New(shape=MATRIX, stride=stride)
            yield template.with_tensors(changed)


def offset(template: Template) -> Iterator[Template]:
    """All tensors start inside their storage."""
    slots = [slot for slot, _ in template.tensors]
    yield template.with_tensors(dict.fromkeys(slots, New(shape=VECTOR, offset=OFFSET)))


def channels_last(template: Template) -> Iterator[Template]:
    """Four dimensions with the second one innermost, and orders that are neither row- nor column-major."""
    slots = [slot for slot, _ in template.tensors]
    for shape, order in ((IMAGE, CHANNELS_LAST), (IMAGE[1:], (1, 2, 0)), (IMAGE, (1, 3, 0, 2))):
        permuted_view = New(shape=shape, stride=permuted(shape, order))
        yield template.with_tensors(dict.fromkeys(slots, permuted_view))


def aliased(template: Template) -> Iterator[Template]:
    """The same tensor for every argument; then two overlapping views of one storage."""
    if len({template.dtype(slot) for slot, _ in template.tensors}) != 1 or len(template.tensors) == 1:
        return
    (first, _), *others = template.tensors
    whole = template.with_tensors({first: New(shape=VECTOR)})
    shared = whole.get(first)
    if not isinstance(shared, TensorSpec):
        return
    yield whole.with_same({slot: shared for slot, _ in others})
    length = (VECTOR[0] - 1,)
    yield whole.with_same(
        {first: replace(shared, shape=length)}
        | {slot: replace(shared, shape=length, offset=1) for slot, _ in others}
    )
