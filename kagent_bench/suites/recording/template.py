"""A recorded call as the template of derived ones: replace a tensor or an argument, keep the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kagent_bench.model.case import (
    ITEM_BYTES,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)
from kagent_bench.suites.recording.elements import Array, elements, is_floating, view_elements
from kagent_bench.suites.recording.specification import Arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

Slot: TypeAlias = "int | str"
"""Index of a positional argument, or name of a keyword argument."""

Shape: TypeAlias = "tuple[int, ...]"

DEFAULT_RANGE = UniformValues(low=-4.0, high=4.0)
"""Range of floating-point values where the template says nothing useful."""

DEFAULT_INTEGERS = (-9, 9)
"""Range of integers where the template says nothing useful; unsigned ones start at zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """A tensor to put in a template's place, in a storage of its own."""

    shape: Shape
    stride: Shape | None = None
    """Elements; None for row-major order."""
    offset: int = 0
    dtype: str | None = None
    """None for the template's."""
    rule: ValueRule | None = None
    """None for values like the template's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A call whose tensors are plain arguments, and what its schema says of the others."""

    arguments: Arguments
    names: tuple[str, ...]
    """Schema names of the positional parameters."""
    numbers: tuple[str, ...]
    """Schema names of the parameters that take a number."""
    lists: tuple[str, ...]
    """Schema names of the parameters that take a list of integers."""
    integers: tuple[str, ...] = ()
    """Schema names of the parameters that take an integer."""
    flags: tuple[str, ...] = ()
    """Schema names of the parameters that are true or false."""
    defaults: tuple[tuple[str, Value], ...] = ()
    """Positional parameters that a call may leave out, in order, with what then holds."""
    scalars: frozenset[Slot] = frozenset()
    """Slots of tensors that stand for one number, which have no dimensions and get none."""

    @property
    def tensors(self) -> tuple[tuple[Slot, TensorSpec], ...]:
        """The tensor arguments and their slots, but for those that stand for a number."""
        return tuple((slot, value) for slot, value in tensors_of(self.arguments) if slot not in self.scalars)

    def dtype(self, slot: Slot) -> str:
        """Return the dtype of the tensor at a slot."""
        return self._storage(slot).dtype

    def _storage(self, slot: Slot) -> StorageSpec:
        value = self.get(slot)
        if not isinstance(value, TensorSpec):
            message = f"argument {slot} is no tensor"
            raise TypeError(message)
        return self.arguments.storages[value.storage]

    def get(self, slot: Slot) -> Value:
        """Return the argument at a slot."""
        return self.arguments.args[slot] if isinstance(slot, int) else dict(self.arguments.kwargs)[slot]

    def slot(self, name: str) -> Slot | None:
        """Return where the call gives a parameter, None where it leaves the default."""
        if name in dict(self.arguments.kwargs):
            return name
        index = self.names.index(name) if name in self.names else len(self.arguments.args)
        return index if index < len(self.arguments.args) else None

    def with_tensors(self, tensors: dict[Slot, New]) -> Template:
        """Return the call with other tensors at some slots."""
        storages = list(self.arguments.storages)
        values: dict[Slot, Value] = {}
        for slot, new in tensors.items():
            stride = contiguous(new.shape) if new.stride is None else new.stride
            numel = new.offset + extent(new.shape, stride)
            dtype = new.dtype or self.dtype(slot)
            rule = new.rule or self._rule_like(slot, dtype, numel)
            values[slot] = TensorSpec(
                storage=len(storages), shape=new.shape, stride=stride, offset=new.offset
            )
            storages.append(StorageSpec(dtype=dtype, numel=numel, rule=rule))
        changed = self._with_values(values)
        return replace(self, arguments=_compact(replace(changed, storages=tuple(storages))))

    def with_shapes(self, shapes: Sequence[Shape]) -> Template:
        """Return the call with contiguous tensors of other shapes, in the order of the arguments."""
        slots = [slot for slot, _ in self.tensors]
        return self.with_tensors({slot: New(shape=s) for slot, s in zip(slots, shapes, strict=True)})

    def with_same(self, tensors: dict[Slot, TensorSpec]) -> Template:
        """Return the call with views of storages that it already has."""
        values: dict[Slot, Value] = dict(tensors)
        return replace(self, arguments=_compact(self._with_values(values)))

    def with_value(self, name: str, value: Value) -> Template:
        """Return the call with another value of a parameter.

        A positional parameter that the call leaves out is given at its place, after the defaults of those before
        it, as PyTorch itself passes it: a kernel may call its parameters what it likes.
        """
        slot = self.slot(name)
        if slot is None and name in dict(self.defaults):
            left_out = self.names[len(self.arguments.args) : self.names.index(name)]
            between = tuple(dict(self.defaults)[item] for item in left_out)
            longer = replace(self.arguments, args=(*self.arguments.args, *between, value))
            return replace(self, arguments=_compact(longer))
        values: dict[Slot, Value] = {name if slot is None else slot: value}
        return replace(self, arguments=_compact(self._with_values(values)))

    def value_of(self, name: str) -> Value:
        """Return the value that a parameter has in the call, its default where the call leaves it out."""
        slot = self.slot(name)
        return dict(self.defaults).get(name) if slot is None else self.get(slot)

    def parameter(self, slot: Slot) -> str:
        """Return the schema name of the parameter at a slot."""
        return self.names[slot] if isinstance(slot, int) else slot

    def integer_range(self, slot: Slot) -> tuple[int, int] | None:
        """Return the least and the largest element of an integer tensor; None for others and for no elements."""
        storage = self._storage(slot)
        if isinstance(storage.rule, IntegerValues):
            return storage.rule.low, storage.rule.high
        found = self.literal(slot)
        if found is None or found.dtype.kind not in "iu":
            return None
        return int(found.min()), int(found.max())

    def float_range(self, slot: Slot) -> UniformValues | None:
        """Return the range of a floating-point tensor's values; None for others, and where there is none."""
        storage = self._storage(slot)
        return _floats_like(storage) if is_floating(storage.dtype) else None

    def literal(self, slot: Slot) -> Array | None:
        """Return the elements of a tensor of literal values, in its shape; None for others and for none."""
        view = self.get(slot)
        if not isinstance(view, TensorSpec) or 0 in view.shape:
            return None
        return view_elements(view, self._storage(slot))

    def with_layouts(self, layouts: dict[Slot, tuple[Shape, int]]) -> Template:
        """Return the call with the same elements in other places of their storages: strides and offset per slot."""
        changed = self
        for slot, (stride, offset) in layouts.items():
            view = self.get(slot)
            assert isinstance(view, TensorSpec)
            rule = _moved(view, self._storage(slot), stride, offset)
            changed = changed.with_tensors(
                {slot: New(shape=view.shape, stride=stride, offset=offset, rule=rule)}
            )
        return changed

    def _with_values(self, values: dict[Slot, Value]) -> Arguments:
        args = tuple(values.get(index, value) for index, value in enumerate(self.arguments.args))
        named = dict(self.arguments.kwargs)
        named.update({slot: value for slot, value in values.items() if isinstance(slot, str)})
        return replace(self.arguments, args=args, kwargs=tuple(named.items()))

    def _rule_like(self, slot: Slot, dtype: str, numel: int) -> ValueRule:
        """Return a rule for values like those of the template's tensor, in any dtype."""
        storage = self._storage(slot)
        if dtype == "bool":
            return LiteralValues(data=coins(numel))
        if is_floating(dtype):
            return _floats_like(storage)
        return _integers_like(storage, dtype)


def tensors_of(arguments: Arguments) -> list[tuple[Slot, TensorSpec]]:
    """Return the arguments that are tensors, with their slots."""
    named: list[tuple[Slot, Value]] = [*enumerate(arguments.args), *arguments.kwargs]
    return [(slot, value) for slot, value in named if isinstance(value, TensorSpec)]


def _moved(view: TensorSpec, storage: StorageSpec, stride: Shape, offset: int) -> ValueRule:
    """Return a rule for a storage that holds a view's elements under other strides."""
    if not isinstance(storage.rule, LiteralValues) or 0 in view.shape:
        return storage.rule
    raw = np.dtype(f"V{ITEM_BYTES[storage.dtype]}")
    old = np.frombuffer(storage.rule.data, dtype=raw)
    new = np.zeros(offset + extent(view.shape, stride), dtype=raw)
    source = _strided(old, view.shape, view.stride, view.offset)
    _strided(new, view.shape, stride, offset)[...] = source
    return LiteralValues(data=new.tobytes())


def _strided(flat: Array, shape: Shape, stride: Shape, offset: int) -> Array:
    steps = tuple(step * flat.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(flat[offset:], shape, steps)


def extent(shape: Shape, stride: Shape) -> int:
    """Return how many elements of a storage a view reaches over, from its first to its last."""
    return 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True))


def contiguous(shape: Shape) -> Shape:
    """Return the strides of row-major order."""
    return tuple(prod(max(size, 1) for size in shape[axis + 1 :]) for axis in range(len(shape)))


def permuted(shape: Shape, order: Sequence[int]) -> Shape:
    """Return strides under which dimension ``order[-1]`` is the innermost in memory."""
    strides = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def coins(numel: int) -> bytes:
    """Return booleans of no pattern, the same ones each time."""
    generator = np.random.Generator(np.random.PCG64(numel))
    return generator.integers(0, 2, numel, dtype=np.uint8).tobytes()


def _floats_like(storage: StorageSpec) -> UniformValues:
    if isinstance(storage.rule, UniformValues):
        return storage.rule
    values = elements(storage)
    if values is None or values.size == 0 or not is_floating(storage.dtype):
        return DEFAULT_RANGE
    real = values.real
    finite = real[np.isfinite(real)]
    if finite.size == 0 or finite.min() == finite.max():
        return DEFAULT_RANGE
    return UniformValues(low=float(finite.min()), high=float(finite.max()))


def _integers_like(storage: StorageSpec, dtype: str) -> IntegerValues:
    low, high = DEFAULT_INTEGERS
    values = None if is_floating(storage.dtype) or storage.dtype == "bool" else elements(storage)
    if isinstance(storage.rule, IntegerValues):
        low, high = storage.rule.low, storage.rule.high
    elif values is not None and values.size > 1:
        low, high = int(values.min()), int(values.max())
        if low < 0 < high and not (values == 0).any():
            low = 1  # the sample avoids zero: a divisor
    if dtype.startswith("uint"):
        low = max(low, 0)
    return IntegerValues(low=min(low, high), high=max(low, high))


def _compact(arguments: Arguments) -> Arguments:
    """Drop storages that no tensor looks at."""
    used: dict[int, int] = {}

    def moved(value: Value) -> Value:
        if isinstance(value, TensorSpec):
            return replace(value, storage=used.setdefault(value.storage, len(used)))
        if isinstance(value, tuple):
            return tuple(moved(item) for item in value)
        return value

    args = tuple(moved(value) for value in arguments.args)
    kwargs = tuple((name, moved(value)) for name, value in arguments.kwargs)
    storages = tuple(arguments.storages[index] for index in used)
    return Arguments(args=args, kwargs=kwargs, storages=storages)
