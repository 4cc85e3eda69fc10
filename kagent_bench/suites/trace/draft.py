"""A case in the making: a traced call whose tensors have storages, and whose values are still to be chosen."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kagent_bench.model.case import (
    Case,
    Computation,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import SparseTensor, TracedTensor
from kagent_bench.suites.trace.words import device_symbol, dtype_symbol

if TYPE_CHECKING:
    from kagent_bench.suites.aten import Schema
    from kagent_bench.suites.trace.call import TracedCall, TracedValue

PLAIN = UniformValues(low=-2.0, high=2.0)
"""Floating-point values unless a rule knows better: sums of a million products of them stay finite in float16."""
PLAIN_INTEGERS = {"bool": (0, 1), "uint8": (0, 9), "uint16": (0, 9), "uint32": (0, 9), "uint64": (0, 9)}
"""Integers of dtypes that have no negative ones, or only two."""
SIGNED_INTEGERS = (-9, 9)
_QUOTED_DEVICE = re.compile(r"(?:torch\.)?device\((?:type=)?['\"]?([a-z]+).*\)")
"""A device that a recorder wrote into quotes once more."""


class NoCase(Exception):
    """A call that no case can hold; the text is the reason."""


@dataclass(slots=True)
class Slot:
    """A tensor argument: what it looks like, and how its values will be made."""

    view: TensorSpec
    dtype: str
    numel: int
    """Elements of the storage."""
    rule: ValueRule

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the tensor."""
        return self.view.shape

    @property
    def is_floating(self) -> bool:
        """Whether it holds floating-point or complex numbers."""
        return is_floating(self.dtype)

    def size(self, dimension: int) -> int:
        """Return the size of a dimension, negative ones from the end; 1 for a tensor without dimensions."""
        return self.shape[dimension] if self.shape else 1

    def integers(self, low: int, high: int) -> None:
        """Draw integers from low .. high; floating-point tensors are left alone."""
        if not self.is_floating:
            if self.dtype == "bool":
                low, high = 0, 1
            self.rule = IntegerValues(low=low, high=max(low, high))

    def uniform(self, low: float, high: float) -> None:
        """Draw floating-point numbers from [low, high); integers from the whole numbers in it."""
        if self.is_floating:
            self.rule = UniformValues(low=low, high=high)
        elif self.dtype != "bool":
            self.integers(math.ceil(low), max(math.ceil(low), math.floor(high)))

    def literal(self, data: bytes) -> None:
        """Take exactly these elements of the storage."""
        self.rule = LiteralValues(data=data)


class Draft:
    """The arguments of a traced call by the names of the schema."""

    def __init__(self, call: TracedCall, schema: Schema) -> None:
        """Give every tensor a storage of its own.

        Raises:
            NoCase: the operator does not take these arguments, or a case cannot hold one.
        """
        self.operator = call.operator
        self._call = call
        self._slots: list[Slot] = []
        self._computed: list[Computation] = []
        self._args: list[tuple[str, Value]] = []
        self._kwargs: list[tuple[str, Value]] = []
        positional = [argument.name for argument in schema.arguments if not argument.kwarg_only]
        if len(call.arguments.args) > len(positional):
            raise NoCase(f"{len(call.arguments.args)} arguments, the operator has {len(positional)}")
        for name, value in zip(positional, call.arguments.args, strict=False):
            self._args.append((name, self._placed(name, value)))
        known = {argument.name for argument in schema.arguments}
        for name, value in call.arguments.kwargs:
            if name not in known:
                raise NoCase(f"the operator has no argument '{name}'")
            self._kwargs.append((name, self._placed(name, value)))
        given = {name for name, _ in (*self._args, *self._kwargs)}
        for argument in schema.arguments:
            if (
                argument.name not in given
                and not argument.optional
                and argument.type != "Optional[Generator]"
            ):
                raise NoCase(f"no argument '{argument.name}', which the operator needs")

    # --- looking --------------------------------------------------------------------------------------------

    def value(self, name: str) -> Value:
        """Return an argument; None where it was not given."""
        return next((value for key, value in (*self._args, *self._kwargs) if key == name), None)

    def tensor(self, name: str) -> Slot | None:
        """Return a tensor argument; None where it was not given or is no tensor."""
        value = self.value(name)
        return self._slots[value.storage] if isinstance(value, TensorSpec) else None

    def tensors(self, *names: str) -> Iterator[Slot]:
        """Yield the tensors of some arguments, those in lists too; of all arguments where none is named."""
        for key, value in (*self._args, *self._kwargs):
            if not names or key in names:
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, TensorSpec):
                        yield self._slots[item.storage]

    def integer(self, name: str, default: int = 0) -> int:
        """Return a whole number; the default where it was not given or is none."""
        value = self.value(name)
        return value if isinstance(value, int) else default

    def compute(
        self, slot: Slot, operator: str, *args: Value, output: int = 0, into: TensorSpec | None = None
    ) -> None:
        """Let an operator make the values of an argument, from those that are drawn for it and from others.

        Args:
            slot: the argument.
            operator: an ATen overload.
            args: its arguments; tensors are views of this storage or of others.
            output: which of its results is taken.
            into: the view that receives them; None for the whole argument.
        """
        if slot.numel:
            name = OperatorName.parse(operator)
            target = into or slot.view
            self._computed.append(Computation(operator=name, args=args, output=output, target=target))

    def enlarge(self, slot: Slot, numel: int) -> None:
        """Make a storage at least so large."""
        slot.numel = max(slot.numel, numel)

    # --- the case -------------------------------------------------------------------------------------------

    def case(self) -> Case:
        """Return the case with the values as the rules now say."""
        return make_case(
            self.operator,
            tuple(value for _, value in self._args),
            tuple(self._kwargs),
            tuple(StorageSpec(dtype=slot.dtype, numel=slot.numel, rule=slot.rule) for slot in self._slots),
            computed=tuple(self._computed),
            dtype=self._dtype(),
            origin="trace",
            count=self._call.count,
            sources=self._call.sources,
        )

    def _dtype(self) -> str:
        floats = (slot.dtype for slot in self._slots if slot.is_floating)
        others = (slot.dtype for slot in self._slots)
        symbol = self.value("dtype")
        named = symbol.name if isinstance(symbol, SymbolSpec) and symbol.kind == "dtype" else "float32"
        return next(floats, next(others, named))

    def _placed(self, name: str, value: TracedValue) -> Value:
        if isinstance(value, TracedTensor):
            return self._new(value)
        if isinstance(value, SparseTensor):
            raise NoCase(f"argument '{name}' is a {value.layout} tensor")
        if isinstance(value, tuple):
            return tuple(self._placed(name, item) for item in value)
        if isinstance(value, str) and name == "device":
            try:
                return device_symbol(_QUOTED_DEVICE.sub(r"\1", value))
            except ValueError as error:
                raise NoCase(str(error)) from None
        if isinstance(value, str) and name == "dtype":
            return dtype_symbol(value) or value
        return value

    def _new(self, tensor: TracedTensor) -> TensorSpec:
        stride = row_major(tensor.shape) if tensor.stride is None else tensor.stride
        numel = (
            0
            if 0 in tensor.shape
            else 1 + sum((n - 1) * step for n, step in zip(tensor.shape, stride, strict=True))
        )
        view = TensorSpec(storage=len(self._slots), shape=tensor.shape, stride=stride)
        low, high = PLAIN_INTEGERS.get(tensor.dtype, SIGNED_INTEGERS)
        rule = PLAIN if is_floating(tensor.dtype) else IntegerValues(low=low, high=high)
        self._slots.append(Slot(view=view, dtype=tensor.dtype, numel=numel, rule=rule))
        return view


def is_floating(dtype: str) -> bool:
    """Return whether a dtype holds floating-point or complex numbers."""
    return dtype.startswith(("float", "bfloat", "complex"))


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a tensor in row-major order without gaps."""
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
