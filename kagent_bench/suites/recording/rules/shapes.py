"""Rules that change sizes: one element, around one and several blocks, primes, empty, 0-d, broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.suites.recording.template import Shape, Template

BLOCK_EDGES = (1025, 1023, 2049, 1024, 127, 1, 3079, 32_771)
"""Lengths at which a kernel with blocks of a power of two has a tail, none, or only a tail; some are prime. The last
one needs more than 16 bits to count, and is the one exception to the limit of size."""

SEVERAL_DIMENSIONS: tuple[Shape, ...] = ((9, 7, 13), (33, 31), (3, 5, 7, 11), (1, 1, 513, 1))
"""Shapes whose dimensions are no multiples of anything."""

EMPTY: tuple[Shape, ...] = ((0,), (3, 0, 2))

BROADCAST: tuple[tuple[Shape, Shape], ...] = (
    ((7, 1, 5), (3, 1)),
    ((3, 1), (7, 1, 5)),
    ((), (33,)),
    ((33,), ()),
    ((1,), (9, 129)),
    ((2, 3, 4, 5), (3, 1, 1)),
    ((0, 3), (1, 3)),
)
"""Pairs of shapes that broadcast, in either direction and both at once."""


def sizes(template: Template) -> Iterator[Template]:
    """All tensors of one dimension, of lengths around block edges."""
    for length in BLOCK_EDGES:
        yield template.with_shapes([(length,)] * len(template.tensors))


def dimensions(template: Template) -> Iterator[Template]:
    """All tensors of several odd dimensions."""
    for shape in SEVERAL_DIMENSIONS:
        yield template.with_shapes([shape] * len(template.tensors))


def empty(template: Template) -> Iterator[Template]:
    """Tensors without elements."""
    for shape in EMPTY:
        yield template.with_shapes([shape] * len(template.tensors))


def zero_dim(template: Template) -> Iterator[Template]:
    """Tensors without dimensions: one element, no index."""
    yield template.with_shapes([()] * len(template.tensors))


def broadcast(template: Template) -> Iterator[Template]:
    """The first tensor against all others, in both directions."""
    n_others = len(template.tensors) - 1
    if n_others:
        for first, other in BROADCAST:
            yield template.with_shapes([first] + [other] * n_others)
