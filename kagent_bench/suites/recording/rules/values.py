"""Rules that change values and dtypes: NaN, infinities, -0.0, ties, other scalars, mixed dtypes."""

from __future__ import annotations

from math import copysign, isinf
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_floats, encode_integers
from kagent_bench.suites.recording.template import New

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kagent_bench.suites.recording.template import Slot, Template

SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.0, 0.5, -2.5, 3.0)
"""Where shortcuts of arithmetic and comparison go wrong."""

LARGEST = 1e4
"""What stands for an infinity where there is no right answer to one: its exponential overflows, and no dtype does."""

LEVELS = (-1, 0, 1, 2, 1, 0, -1, 2, 2)
"""Few whole values, so that equal ones meet: ties, exact comparisons."""

N_TIES = 63
"""Elements of a tensor of ties; odd, so that the pattern shifts against rows."""

LARGE = (
    2**53 + 1, 2**53, -(2**53) - 3, -(2**53) - 2, 2**31 + 5, -(2**31) - 7, 2**32 + 9, 7, -11, 2**62 - 2, 2**62 - 1,
    2**24 + 1, 2**24, -(2**62) + 2, -(2**62) + 1,
)  # fmt: skip
"""Beyond the whole numbers of float64, of 32 bits, and of float32, beside neighbours that only an integer tells from
them. The very least is left out: divided by minus one it ends the process."""

SCALARS: tuple[int | float, ...] = (2, -1, 0, 0.5, 3, -2.3)
"""Other values for arguments that are numbers; the last one is none of a narrower dtype."""

OTHER_DTYPES = ("float32", "float16", "float64", "int64", "int32", "uint8", "bool")
"""Dtypes that meet the template's own in type promotion."""


def special(template: Template, *, infinite: bool = True, alike: bool = False) -> Iterator[Template]:
    """NaN, infinities and negative zero: each against each where there are two tensors, then in turn.

    Args:
        template: the call.
        infinite: whether there is a right answer to infinities; large numbers stand for them otherwise.
        alike: whether all tensors have the same shape, so that none is broadcast.
    """
    slots = [slot for slot, _ in template.tensors if is_floating(template.dtype(slot))]
    n = len(SPECIAL)
    if not slots:
        return
    chosen = [value if infinite or not isinf(value) else copysign(LARGEST, value) for value in SPECIAL]

    def given(slot: Slot, shape: tuple[int, ...], values: Sequence[float]) -> New:
        return New(shape=shape, rule=LiteralValues(data=encode_floats(values, template.dtype(slot))))

    def crossed(place: int, slot: Slot) -> New:
        if alike:
            return given(slot, (n, n), chosen * n if place else [value for value in chosen for _ in chosen])
        return given(slot, (1, n) if place else (n, 1), chosen)

    pairs = {slot: crossed(place, slot) for place, slot in enumerate(slots)}
    yield template.with_tensors({**_plain(template, (n, n)), **pairs})
    if len(slots) > 1:
        for slot in slots:
            yield template.with_tensors({**_plain(template, (n,)), slot: given(slot, (n,), chosen)})


def ties(template: Template) -> Iterator[Template]:
    """Few whole values in every tensor."""
    levels = [LEVELS[index % len(LEVELS)] for index in range(N_TIES)]
    changed: dict[Slot, New] = {}
    for index, (slot, _) in enumerate(template.tensors):
        dtype = template.dtype(slot)
        shifted = levels[index:] + levels[:index]
        if is_floating(dtype):
            data = encode_floats([float(level) for level in shifted], dtype)
        else:
            data = encode_integers(shifted, dtype)
        changed[slot] = New(shape=(9, 7), rule=LiteralValues(data=data))
    yield template.with_tensors(changed)


def large_integers(template: Template) -> Iterator[Template]:
    """Integers that no floating-point number and no narrower integer holds: in the first tensor, then in all."""
    slots = [slot for slot, _ in template.tensors]
    if template.dtype(slots[0]) != "int64":
        return
    shape = (len(LARGE),)
    large: dict[Slot, New] = {}
    for shift, slot in enumerate(slots):
        if template.dtype(slot) == "int64":
            data = encode_integers(LARGE[shift:] + LARGE[:shift], "int64")
            large[slot] = New(shape=shape, rule=LiteralValues(data=data))
    yield template.with_tensors({**_plain(template, shape), slots[0]: large[slots[0]]})
    if len(large) > 1:
        yield template.with_tensors({**_plain(template, shape), **large})


def scalars(template: Template) -> Iterator[Template]:
    """Other values for the arguments that are numbers: all at once where there are several, then each alone.

    Those that a call may do without are first given alone.
    """
    left_out = [name for name in template.numbers if template.value_of(name) is None]
    for place, name in enumerate(left_out):
        yield template.with_value(name, _scalar(name, place))
    if len(template.numbers) > 1:
        for shift in range(len(SCALARS)):
            changed = template
            for place, name in enumerate(template.numbers, start=shift):
                changed = changed.with_value(name, _scalar(name, place))
            yield changed
    for place, value in enumerate(SCALARS):
        for name in template.numbers:
            slot = template.slot(name)
            if slot is None or value != template.get(slot):
                yield template.with_value(name, _scalar(name, place))


def _scalar(name: str, place: int) -> int | float:
    """Return one of the values in turn; factors of scale are positive."""
    value = SCALARS[place % len(SCALARS)]
    return abs(value) or 1 if name.startswith("scales") else value


def special_numbers(template: Template) -> Iterator[Template]:
    """Each number alone beside what it may stand for."""
    for changed in special(template):
        for place, name in enumerate(template.numbers):
            yield changed.with_value(name, _scalar(name, place))


def negative_zero(template: Template) -> Iterator[Template]:
    """A negative zero, where the sign is all that counts of a number."""
    for name in template.numbers:
        yield template.with_value(name, -0.0)


def mixed_dtypes(template: Template) -> Iterator[Template]:
    """The second tensor, then the first, in other dtypes, with and without dimensions."""
    if len(template.tensors) == 1:
        return
    slots = [slot for slot, _ in template.tensors]
    for dtype in OTHER_DTYPES:
        for slot, shape in ((slots[1], (65,)), (slots[0], (65,)), (slots[1], ())):
            if template.dtype(slot) != dtype:
                plain = _plain(template, (65,))
                yield template.with_tensors({**plain, slot: New(shape=shape, dtype=dtype)})


def _plain(template: Template, shape: tuple[int, ...]) -> dict[Slot, New]:
    return {slot: New(shape=shape) for slot, _ in template.tensors}
