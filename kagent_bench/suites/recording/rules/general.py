"""Rules for operators of no particular class: layouts, sizes and arguments, as the schema and a sample give them."""

from __future__ import annotations

from itertools import zip_longest
from math import inf, nan, prod
from typing import TYPE_CHECKING

from kagent_bench.model.case import IntegerValues, LiteralValues, SymbolSpec, TensorSpec
from kagent_bench.suites.recording.elements import is_floating
from kagent_bench.suites.recording.literals import encode_floats
from kagent_bench.suites.recording.rules.values import LEVELS
from kagent_bench.suites.recording.template import New, contiguous, permuted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import Value
    from kagent_bench.suites.recording.template import Shape, Slot, Template

INDICES = frozenset({"index", "indices", "indices_tuple", "offset2bag", "offsets", "row", "target"})
"""Parameters whose integers name places: they keep their values, or get others within the same bounds."""

MANY_ELEMENTS = 2048
"""Elements of the largest tensor after its dimensions have grown."""

WINDOW = 4
"""How many times as many there may be where several elements make one of the result."""

LONG_SIZES = (1031, 521, 257, 131, 67, 41)
"""What one dimension grows to, the first that fits: primes, each a little more than a block."""

GROWN_SIZES = ((19, 13, 11, 7, 5), (20, 14, 10, 8, 6), (11,), (12,))
"""What dimensions grow to, the larger ones first: primes, so that none is a multiple of a block; and even ones,
which some operators halve. The last two are for cubes, of which the others would have too many elements."""

FAR = 7
"""Added to numbers such as shifts, so that they pass the ends of a small dimension."""

ENDS: tuple[float, ...] = (-2.0, -1.0, -1.0, 0.0, 0.5, 0.5, 0.5, 2.0)
"""Boundaries in order, some of them equal."""

RUNNING = frozenset({"running_mean", "running_var"})
"""Buffers of modules, which lie as their module made them."""

UNIT = (0.0, 1.0, 0.5, 1.0, 0.25, 0.0, 0.75)
"""The ends of a domain of probabilities, and what lies between."""

NO_MEANING = frozenset(
    {"allow_tf32", "benchmark", "cudnn_enabled", "deterministic", "keepdim", "non_blocking", "pin_memory", "sorted",
     "sparse", "sparse_grad"}
)  # fmt: skip
"""Flags that change no value, leave the result open, or have a rule of their own."""

RESULT_DTYPES = ("bfloat16", "float16", "float32", "int64", "bool", "float64")
"""Dtypes of results: rounded to, widened to, truncated to, and tested for zero."""

CHANNELS_LAST = (0, 2, 3, 1)
MORE = 3
"""Elements between the rows of a padded layout."""

DIMENSIONS = frozenset({"axis", "dim", "dim0", "dim1", "dim2", "dimension"})
"""Integer parameters that name a dimension."""

COUNTS: dict[str, tuple[int, ...]] = {
    "correction": (0, 1, 2),
    "decimals": (1, -1, 2, 0),
    "diagonal": (-2, -1, 0, 1, 2),
    "ignore_index": (0, 1, -100),
    "k": (1, 2, 3),
    "offset": (-1, 0, 1),
    "padding_idx": (0, 1, -1),
    "reduction": (0, 1, 2),
}
"""Integer parameters with other values worth trying; those of others (sizes of tensors) follow from the tensors."""


def layouts(template: Template) -> Iterator[Template]:
    """Each tensor in turn permuted, padded with an offset, strided and expanded; then all of them permuted."""
    views: dict[Slot, TensorSpec] = {
        slot: view
        for slot, view in template.tensors
        if view.shape and template.parameter(slot) not in RUNNING
    }
    choices = {slot: list(_layouts(view.shape)) for slot, view in views.items()}
    yield template.with_layouts({slot: found[0] for slot, found in choices.items()})
    for rank in range(max(map(len, choices.values()), default=0)):
        for slot, found in choices.items():
            if rank < len(found):
                yield template.with_layouts({slot: found[rank]})
    for slot, view in views.items():
        if is_floating(template.dtype(slot)):
            for dim in (0, len(view.shape) - 1):
                stride = tuple(0 if axis == dim else step for axis, step in enumerate(contiguous(view.shape)))
                yield template.with_tensors({slot: New(shape=view.shape, stride=stride)})


def _layouts(shape: Shape) -> Iterator[tuple[Shape, int]]:
    rank = len(shape)
    if rank == len(CHANNELS_LAST):
        yield permuted(shape, CHANNELS_LAST), 0
    if rank > 1:
        yield permuted(shape, tuple(reversed(range(rank)))), 0
        yield contiguous((*shape[:-1], shape[-1] + MORE)), 1
    yield tuple(2 * step for step in contiguous(shape)), 1


def grown(template: Template) -> Iterator[Template]:
    """Every dimension longer, equal ones by the same, with and without arguments that name sizes."""
    sizes = _sizes(template)
    for longer in GROWN_SIZES:
        larger = dict(zip(sorted(sizes, reverse=True), longer, strict=False))
        yield from _resized(template, {size: max(new, size) for size, new in larger.items()})


def long(template: Template) -> Iterator[Template]:
    """Each dimension in turn longer than a block, in all tensors; then one of several that are equally long."""
    yield from _one_longer(template)
    for size in sorted(_sizes(template)):
        for new in LONG_SIZES:
            found = list(_resized(template, {size: new})) if new > size else []
            if found:
                yield from found
                break


def _one_longer(template: Template) -> Iterator[Template]:
    """Yield the call with each dimension longer where every tensor has the same shape, with equal sizes in it."""
    shapes = {view.shape for _, view in template.tensors}
    shape = shapes.pop()
    if shapes or len(set(shape)) == len(shape) or 0 in shape:
        return
    for axis in range(len(shape)):
        rest = prod(shape) // shape[axis]
        longer = next(
            (new for new in LONG_SIZES if shape[axis] < new <= _most_elements(template) // rest), None
        )
        if longer is not None:
            changed = (*shape[:axis], longer, *shape[axis + 1 :])
            yield template.with_shapes([changed] * len(template.tensors))


def single(template: Template) -> Iterator[Template]:
    """Each dimension in turn of size one, and of size zero."""
    for new in (1, 0):
        for size in sorted(_sizes(template)):
            yield from _resized(template, {size: new})


def dims(template: Template) -> Iterator[Template]:
    """Every dimension of the first tensor, counted from either end."""
    rank = max((len(view.shape) for _, view in template.tensors[:1]), default=0)
    for name in (*template.integers, *template.lists):
        if name not in DIMENSIONS | {"dims"}:
            continue
        for dim in (-1, *range(rank), *range(-2, -rank - 1, -1)):
            yield template.with_value(name, dim if name in template.integers else (dim,))
        if name in template.lists:
            yield template.with_value(name, tuple(range(-rank, 0)))


def dtypes(template: Template) -> Iterator[Template]:
    """Other dtypes of the result, where the call may name one."""
    if "dtype" in template.names:
        for name in RESULT_DTYPES:
            if name != template.dtype(template.tensors[0][0]):
                yield template.with_value("dtype", SymbolSpec(kind="dtype", name=name))


def integers(template: Template) -> Iterator[Template]:
    """Other values of integer parameters that do not follow from the tensors."""
    for name in template.integers:
        for value in COUNTS.get(name, ()):
            yield template.with_value(name, value)


def flags(template: Template) -> Iterator[Template]:
    """Each parameter that is true or false the other way, alone or in a list."""
    for name in template.flags:
        if name not in NO_MEANING:
            yield template.with_value(name, not template.value_of(name))
    for name in template.names:
        given = template.value_of(name)
        if isinstance(given, tuple) and given and all(isinstance(item, bool) for item in given):
            for place in range(len(given)):
                yield template.with_value(name, (*given[:place], not given[place], *given[place + 1 :]))


def lists(template: Template) -> Iterator[Template]:
    """Lists of integers whose elements differ from each other: padding, stride, dilation, window."""
    drafts = []
    for name in template.lists:
        given = template.value_of(name)
        if isinstance(given, tuple) and name != "dims":
            numbers = [item for item in given if isinstance(item, int) and not isinstance(item, bool)]
            drafts.append([(name, changed) for changed in _varied(numbers)] if numbers else [])
    for turn in zip_longest(*drafts):
        for item in turn:
            if item is not None:
                yield template.with_value(*item)


def _varied(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    yield tuple(n + i for i, n in enumerate(numbers, start=1))
    yield tuple(n + FAR for n in numbers)
    yield tuple(reversed(numbers))
    for place in (0, -1):
        for step in (1, -1, -2):
            changed = list(numbers)
            changed[place] += step
            yield tuple(changed)


def unit_edges(template: Template) -> Iterator[Template]:
    """Exactly zero and one, where a sample's values lie between."""
    for slot, view in template.tensors:
        bounds = template.float_range(slot)
        numel = prod(view.shape)
        if bounds is not None and bounds.low >= 0 and bounds.high <= 1 and numel > 1:
            data = encode_floats([UNIT[i % len(UNIT)] for i in range(numel)], template.dtype(slot))
            yield template.with_tensors({slot: New(shape=view.shape, rule=LiteralValues(data=data))})


def on_boundaries(template: Template, boundaries: str) -> Iterator[Template]:
    """Values that meet the boundaries they are sorted into, lie beyond all of them, and have no order; on either side."""
    slot = template.slot(boundaries)
    if slot is None:
        return
    ends, changed = ENDS, template
    for name in ("sorter", "side"):
        if name in dict(template.arguments.kwargs):
            changed = changed.with_value(name, None)
    found = template.literal(slot)
    if found is not None and found.ndim == 1:
        ends = tuple(map(float, found))
    elif is_floating(template.dtype(slot)):
        rule = LiteralValues(data=encode_floats(ENDS, template.dtype(slot)))
        changed = changed.with_tensors({slot: New(shape=(len(ENDS),), rule=rule)})
    else:
        return
    for right in (True, False):
        yield from _meeting(changed.with_value("right", right), slot, ends)


def _meeting(template: Template, boundaries: Slot, ends: tuple[float, ...]) -> Iterator[Template]:
    if "self" in template.numbers:
        yield template.with_value("self", ends[len(ends) // 2])
    for slot, view in template.tensors:
        if slot != boundaries and is_floating(template.dtype(slot)):
            met = [*ends, inf, -inf, nan]
            shape = view.shape if prod(view.shape) >= len(met) else (len(met),)
            values = [met[index % len(met)] for index in range(prod(shape))]
            rule = LiteralValues(data=encode_floats(values, template.dtype(slot)))
            yield template.with_tensors({slot: New(shape=shape, rule=rule)})


def ties(template: Template) -> Iterator[Template]:
    """Few whole values in the first tensor."""
    slot, view = template.tensors[0]
    dtype, numel = template.dtype(slot), prod(view.shape)
    if is_floating(dtype) and numel > 1:
        data = encode_floats([float(LEVELS[index % len(LEVELS)]) for index in range(numel)], dtype)
        yield template.with_tensors({slot: New(shape=view.shape, rule=LiteralValues(data=data))})


def _sizes(template: Template) -> set[int]:
    return {size for _, view in template.tensors for size in view.shape if size > 1}


def _resized(template: Template, sizes: dict[int, int]) -> Iterator[Template]:
    new: dict[Slot, New] = {}
    for slot, view in template.tensors:
        shape = tuple(sizes.get(size, size) for size in view.shape)
        if prod(shape) > _most_elements(template):
            return
        named = template.parameter(slot) in INDICES and not is_floating(template.dtype(slot))
        rule = _bounds(template, slot, sizes) if named else None
        if named and rule is None:
            return
        new[slot] = New(shape=shape, rule=rule if prod(shape) else None)
    changed = template.with_tensors(new)
    yield changed
    names = [name for name in (*template.integers, *template.lists) if name not in DIMENSIONS]
    renamed = changed
    for name in names:
        value = changed.value_of(name)
        if (mapped := _mapped(value, sizes)) != value and _elements(mapped) <= _most_elements(template):
            renamed = renamed.with_value(name, mapped)
    if renamed is not changed:
        yield renamed


def _most_elements(template: Template) -> int:
    return MANY_ELEMENTS * (WINDOW if "kernel_size" in template.names else 1)


def _elements(value: Value) -> int:
    """Return how many elements a list of sizes could ask for."""
    return prod(max(item, 1) for item in value if isinstance(item, int)) if isinstance(value, tuple) else 0


def _mapped(value: Value, sizes: dict[int, int]) -> Value:
    if isinstance(value, tuple):
        return tuple(_mapped(item, sizes) for item in value)
    return sizes.get(value, value) if isinstance(value, int) and not isinstance(value, bool) else value


def _bounds(template: Template, slot: Slot, sizes: dict[int, int]) -> IntegerValues | None:
    """Return which indices a tensor of indices may hold once sizes have changed; None if that cannot be told."""
    found = template.integer_range(slot)
    if found is None:
        return None
    low, high = found
    above = sorted(size for size in (*_sizes(template), 1) if size > high)
    if low < 0 or not above or min(sizes.get(above[0], above[0]), above[0]) < 1:
        return None
    return IntegerValues(low=0, high=sizes.get(above[0], above[0]) - 1)
