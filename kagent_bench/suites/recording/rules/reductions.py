"""Rules for operators that work along dimensions: which ones, kept or not, of which sizes and layouts."""

from __future__ import annotations

from math import inf, nan, prod
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues, SymbolSpec, UniformValues
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_floats, encode_integers
from kagent_bench.suites.recording.rules import values
from kagent_bench.suites.recording.template import New, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import Value, ValueRule
    from kagent_bench.suites.recording.template import Shape, Template

SIZES: tuple[tuple[Shape, int], ...] = (
    ((2, 1025), -1),
    ((2, 3, 129), 1),
    ((1025, 2), 0),
    ((61, 17), -1),
    ((17, 61), 0),
    ((3, 4, 5, 11), -1),
    ((37, 1), -1),
    ((517,), 0),
    ((5, 3, 4, 7), 0),
    ((3, 255), -1),
    ((1,), -1),
)
"""Shapes with the dimension to work along: long and short around block edges, and few of everything else, as a
kernel may have a program for each row, which takes the interpreter a millisecond, and combine the elements with a
function of its own, which takes it as long for each element."""

LONG_ROW = 1031
"""One more than a block of 1,024, and prime."""

SCATTERED = 7919
"""A prime number of steps, to put elements where no pattern of rows has them."""

SIGNS = (1, -1, 1, 1, -1, -1, 1, -1, 1, 1, 1)
"""Factors of an integer product that cannot overflow; eleven, so that the pattern shifts against rows."""

CUBE = (5, 9, 13)

ORDINARY = (0.5, -2.5, 3.0, 0.25, -0.125)
"""What stands beside a special value."""


def sizes(template: Template) -> Iterator[Template]:
    """Long and short rows and columns, along the last and along the first dimension."""
    for shape, dim in SIZES:
        yield from _along(_resized(template, New(shape=shape)), dim)


def dims(template: Template) -> Iterator[Template]:
    """Every dimension, counted from either end; several at once, none and all."""
    cube = _resized(template, New(shape=CUBE))
    if takes_several(template):
        several: tuple[Value, ...] = ((0, 2), None, (-1, 1), (), (2, 1, 0))
        for dims in several:
            yield cube.with_value("dim", dims)
    for dim in (-1, 0, 1, -2, -3):
        yield from _along(cube, dim)


def keepdim(template: Template) -> Iterator[Template]:
    """The reduced dimensions kept and dropped."""
    if "keepdim" in template.names:
        cube = _resized(template, New(shape=CUBE))
        if "dim" in template.names:
            yield cube.with_value("dim", None).with_value("keepdim", value=True)
        for dim in (1, -1):
            for turned in _along(cube, dim):
                yield turned.with_value("keepdim", value=True)
                yield turned.with_value("keepdim", value=False)


def empty(template: Template) -> Iterator[Template]:
    """No elements along the reduced dimension, along another one, and without dimensions."""
    for shape, dim in (((3, 0), 1), ((0, 3), 1), ((0,), 0), ((), 0), ((), -1)):
        yield from _along(_resized(template, New(shape=shape)), dim)


def layouts(template: Template) -> Iterator[Template]:
    """Transposed, permuted, expanded, strided and offset inputs."""
    views = (
        New(shape=CUBE, stride=permuted(CUBE, (2, 1, 0))),
        New(shape=CUBE, stride=permuted(CUBE, (1, 0, 2)), offset=3),
        New(shape=(17, 65), stride=(0, 1)),
        New(shape=(17, 65), stride=(1, 0)),
        New(shape=(17, 65), stride=(130, 2), offset=1),
    )
    for view in views:
        for dim in (-1, 0):
            yield from _along(_resized(template, view), dim)


def special(template: Template) -> Iterator[Template]:
    """Rows of ordinary values with one special value each, with two, and of nothing else."""
    (slot, _), *_ = template.tensors
    if not is_floating(template.dtype(slot)):
        return
    rows = [_row(index, value) for index, value in enumerate(values.SPECIAL)]
    rows += [[nan, inf, *ORDINARY], [inf, -inf, *ORDINARY]]
    rows += [[value] * len(rows[0]) for value in (-0.0, inf, -inf)]
    data = encode_floats([item for row in rows for item in row], template.dtype(slot))
    shape = (len(rows), len(rows[0]))
    matrix = template.with_tensors({slot: New(shape=shape) for slot, _ in template.tensors})
    literal = matrix.with_tensors({slot: New(shape=shape, rule=LiteralValues(data=data))})
    yield from _along(literal, -1)
    yield from _along(literal, 0)


def _row(index: int, value: float) -> list[float]:
    row = [*ORDINARY, 0.75, 1.0]
    row[index % len(row)] = value
    return row


def out_dtypes(template: Template) -> Iterator[Template]:
    """Other dtypes of accumulation and result."""
    (slot, _), *_ = template.tensors
    for name in ("float64", "float32", "float16", "int64"):
        if name != template.dtype(slot) and not (name == "int64" and is_floating(template.dtype(slot))):
            yield _resized(template, New(shape=(17, 65))).with_value(
                "dtype", SymbolSpec(kind="dtype", name=name)
            )


def large_integers(template: Template) -> Iterator[Template]:
    """Integers that no floating-point number holds."""
    for changed in values.large_integers(template):
        yield from _along(changed, -1)


def last(template: Template) -> Iterator[Template]:
    """Rows whose last element decides: rising, falling, and nothing but zeros (or ones) before it."""
    slot, _ = template.tensors[0]
    n_columns = LONG_ROW
    rising = list(range(1, n_columns + 1))
    rows = (rising, rising[::-1], [0] * (n_columns - 1) + [1], [1] * (n_columns - 1) + [0])
    dtype = template.dtype(slot)
    for chosen in (rows[:2], rows[2:]):
        flat = [value for row in chosen for value in row]
        if is_floating(dtype):
            data = encode_floats([float(value) for value in flat], dtype)
        else:
            data = encode_integers(flat, dtype)
        shape = (len(chosen), n_columns)
        others = _resized(template, New(shape=shape))
        yield from _along(others.with_tensors({slot: New(shape=shape, rule=LiteralValues(data=data))}), -1)
        if "dim" not in template.names:
            for half in (data[: len(data) // 2], data[len(data) // 2 :]):
                row = New(shape=(n_columns,), rule=LiteralValues(data=half))
                yield others.with_tensors({slot: row})


def cancelling(template: Template) -> Iterator[Template]:
    """Rows with something in them, that add up to nothing."""
    slot, _ = template.tensors[0]
    dtype, shape = template.dtype(slot), (3, 258)
    if dtype == "bool" or dtype.startswith("uint"):
        return
    flat = [1 - 2 * (index % 2) for index in range(prod(shape))]
    data = (
        encode_floats(list(map(float, flat)), dtype) if is_floating(dtype) else encode_integers(flat, dtype)
    )
    yield from _along(template.with_tensors({slot: New(shape=shape, rule=LiteralValues(data=data))}), -1)


def few(template: Template, *, of: int) -> Iterator[Template]:
    """Rows of which about every second has one element that differs from all others.

    Args:
        template: the call.
        of: what is rare, zero or one; everything else is the other.
    """
    slot, _ = template.tensors[0]
    dtype = template.dtype(slot)
    for shape, dim in SIZES:
        period = 2 * shape[dim]
        flat = [of if index * SCATTERED % period == 0 else 1 - of for index in range(prod(shape))]
        encoded = (
            encode_floats(list(map(float, flat)), dtype)
            if is_floating(dtype)
            else encode_integers(flat, dtype)
        )
        yield from _along(
            template.with_tensors({slot: New(shape=shape, rule=LiteralValues(data=encoded))}), dim
        )


def near_one(template: Template) -> Iterator[Template]:
    """Long rows whose product neither vanishes nor overflows."""
    slot, _ = template.tensors[0]
    dtype = template.dtype(slot)
    for shape, dim in (((2, 1025), -1), ((517, 2), 0), ((1031,), 0)):
        rule: ValueRule = UniformValues(low=0.99, high=1.01)
        if not is_floating(dtype):
            ones = [SIGNS[index % len(SIGNS)] for index in range(prod(shape))]
            rule = LiteralValues(data=encode_integers(ones, dtype))
        yield from _along(template.with_tensors({slot: New(shape=shape, rule=rule)}), dim)


def far_from_zero(template: Template) -> Iterator[Template]:
    """Values that differ by far less than they are: the mean of squares less the square of the mean is all error."""
    slot, _ = template.tensors[0]
    for shape, dim in (((5, 257), -1), ((129, 3), 0)):
        new = New(shape=shape, rule=UniformValues(low=100.0, high=101.0))
        yield from _along(template.with_tensors({slot: new}), dim)


def takes_several(template: Template) -> bool:
    """Whether the parameter ``dim`` takes a list."""
    return "dim" in template.lists


def _resized(template: Template, new: New) -> Template:
    """Give every tensor the same new shape: weights and gradients of these operators follow their input."""
    return template.with_tensors({slot: new for slot, _ in template.tensors})


def _along(template: Template, dim: int) -> Iterator[Template]:
    """Work along one dimension; without a parameter for it, over everything."""
    if "dim" not in template.names:
        yield template
    elif takes_several(template):
        yield template.with_value("dim", (dim,))
    else:
        yield template.with_value("dim", dim)
