"""Rules for matrix products: sizes around tiles, layouts of each factor, broadcast addends."""

from __future__ import annotations

from math import inf, nan, prod
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_floats
from kagent_bench.suites.recording.template import New, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.suites.recording.template import Shape, Slot, Template

FACTORS = {
    "addbmm": ("mn", "bmk", "bkn"),
    "addbmm_": ("mn", "bmk", "bkn"),
    "addmm": ("mn", "mk", "kn"),
    "addmm_": ("mn", "mk", "kn"),
    "addmv": ("m", "mk", "k"),
    "addmv_": ("m", "mk", "k"),
    "addr": ("mn", "m", "n"),
    "addr_": ("mn", "m", "n"),
    "baddbmm": ("bmn", "bmk", "bkn"),
    "baddbmm_": ("bmn", "bmk", "bkn"),
    "bmm": ("bmk", "bkn"),
    "dot": ("k", "k"),
    "ger": ("m", "n"),
    "mm": ("mk", "kn"),
    "mv": ("mk", "k"),
    "vdot": ("k", "k"),
}
"""The dimensions of each tensor argument, by operator name."""

SIZES = (
    {"b": 2, "m": 33, "k": 17, "n": 29},
    {"b": 1, "m": 17, "k": 65, "n": 16},
    {"b": 3, "m": 1, "k": 129, "n": 1},
    {"b": 2, "m": 31, "k": 1, "n": 37},
    {"b": 2, "m": 16, "k": 32, "n": 16},
    {"b": 1, "m": 1, "k": 1, "n": 1},
    {"b": 1, "m": 3, "k": 1031, "n": 2},
    {"b": 2, "m": 5, "k": 3, "n": 131},
    {"b": 1, "m": 1031, "k": 3, "n": 2},
)
"""Dimensions that fill tiles of 16 and 32 exactly, by one too many, and hardly at all, and that need many tiles."""

SQUARE = {"b": 3, "m": 19, "k": 7, "n": 19}
"""A square result, to which a vector could be added along either dimension."""

ORDINARY = (0.5, -2.5, 3.0, 0.25, -0.125, 1.0, -0.75)
"""What stands beside special values; seven, so that the pattern shifts against rows."""

EMPTY = (
    {"b": 2, "m": 5, "k": 0, "n": 3},
    {"b": 2, "m": 0, "k": 4, "n": 3},
    {"b": 0, "m": 3, "k": 4, "n": 5},
)
"""Nothing to sum (the result is zero, or the addend), and no result."""


def sizes(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """Sizes around tiles of matrix units."""
    for size in SIZES:
        yield template.with_shapes([_shape(factor, size) for factor in factors])


def empty(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """Dimensions of size zero."""
    for size in EMPTY:
        yield template.with_shapes([_shape(factor, size) for factor in factors])


def layouts(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """Each factor in turn transposed, expanded, strided and offset."""
    slots = [slot for slot, _ in template.tensors]
    plain = {slot: New(shape=_shape(f, SIZES[0])) for slot, f in zip(slots, factors, strict=True)}
    for slot in slots:
        for view in _views(plain[slot].shape):
            yield template.with_tensors({**plain, slot: view})
    everything = {slot: _views(plain[slot].shape)[0] for slot in slots}
    yield template.with_tensors(everything)


def addend(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """Addends that broadcast to the product."""
    slots = [slot for slot, _ in template.tensors]
    if len(factors) != 3:  # noqa: PLR2004 - an addend and two factors
        return
    m, n = SIZES[0]["m"], SIZES[0]["n"]
    side = SQUARE["n"]
    for size, shape in (
        (SQUARE, (side,)),
        (SIZES[0], (n,)),
        (SIZES[0], (m, 1)),
        (SQUARE, (side, 1)),
        (SIZES[0], (1,)),
        (SIZES[0], (1, n)),
        (SIZES[0], ()),
    ):
        plain: dict[Slot, New] = {
            slot: New(shape=_shape(f, size)) for slot, f in zip(slots, factors, strict=True)
        }
        yield template.with_tensors({**plain, slots[0]: New(shape=shape)})


def special(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """NaN and infinities in a few places of each argument in turn: they reach their row or column only."""
    slots = [slot for slot, _ in template.tensors]
    if not all(is_floating(template.dtype(slot)) for slot in slots):
        return
    plain = {slot: New(shape=_shape(f, SIZES[0])) for slot, f in zip(slots, factors, strict=True)}
    for slot in slots:
        shape = plain[slot].shape
        numbers = [ORDINARY[index % len(ORDINARY)] for index in range(prod(shape))]
        numbers[0], numbers[len(numbers) // 2], numbers[-1] = nan, inf, -inf
        data = encode_floats(numbers, template.dtype(slot))
        yield template.with_tensors({**plain, slot: New(shape=shape, rule=LiteralValues(data=data))})


def ignored(template: Template, factors: tuple[str, ...]) -> Iterator[Template]:
    """NaN in an addend that a factor of zero takes out: it is not looked at, by PyTorch's word."""
    if len(factors) != 3 or "beta" not in template.numbers:  # noqa: PLR2004 - an addend and two factors
        return
    slots = [slot for slot, _ in template.tensors]
    plain = {slot: New(shape=_shape(f, SIZES[0])) for slot, f in zip(slots, factors, strict=True)}
    shape = plain[slots[0]].shape
    data = encode_floats([nan, inf, 1.0] * prod(shape), template.dtype(slots[0]))
    rule = LiteralValues(data=data[: len(data) // 3])
    changed = template.with_tensors({**plain, slots[0]: New(shape=shape, rule=rule)})
    yield changed.with_value("beta", 0)


def _shape(factor: str, size: dict[str, int]) -> Shape:
    return tuple(size[letter] for letter in factor)


def _views(shape: Shape) -> list[New]:
    if len(shape) == 1:
        return [New(shape=shape, stride=(2,)), New(shape=shape, stride=(0,)), New(shape=shape, offset=3)]
    last_two_swapped = (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)
    row = shape[-1]
    outer = permuted((*shape[:-1], row + 3), tuple(range(len(shape))))
    return [
        New(shape=shape, stride=permuted(shape, last_two_swapped)),
        New(shape=shape, stride=(*permuted(shape, tuple(range(len(shape))))[:-2], 0, 1)),
        New(shape=shape, stride=outer, offset=1),
    ]
