"""Rules for operators that work along dimensions: which ones, kept or not, of which sizes and layouts."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

from kagent_bench.model.case import LiteralValues, SymbolSpec
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_floats
from kagent_bench.suites.recording.rules import values
from kagent_bench.suites.recording.template import New, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import Value
    from kagent_bench.suites.recording.template import Shape, Template

SHAPES: tuple[Shape, ...] = (
    (3, 1025),
    (1023, 3),
    (1, 2049),
    (129, 17),
    (37, 1),
    (3, 5, 7, 11),
    (1025,),
    (1,),
)
"""Long and short along each dimension, around block edges."""

CUBE = (5, 9, 13)

ORDINARY = (0.5, -2.5, 3.0, 0.25, -0.125)
"""What stands beside a special value."""


def sizes(template: Template) -> Iterator[Template]:
    """Long and short rows and columns, along the last and along the first dimension."""
    for shape in SHAPES:
        resized = _resized(template, New(shape=shape))
        yield from _along(resized, -1)
        yield from _along(resized, 0)


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
        New(shape=CUBE, stride=permuted(CUBE, (1, 0, 2))),
        New(shape=(17, 65), stride=(0, 1)),
        New(shape=(17, 65), stride=(1, 0)),
        New(shape=(17, 65), stride=(130, 2), offset=1),
    )
    for view in views:
        for dim in (-1, 0):
            yield from _along(_resized(template, view), dim)


def special(template: Template) -> Iterator[Template]:
    """Rows of ordinary values with one special value each, the last ones with two."""
    (slot, _), *_ = template.tensors
    if not is_floating(template.dtype(slot)):
        return
    rows = [_row(index, value) for index, value in enumerate(values.SPECIAL)]
    rows += [[nan, inf, *ORDINARY], [inf, -inf, *ORDINARY], [-0.0] * (len(ORDINARY) + 2)]
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
