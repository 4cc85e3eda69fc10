"""Cases: one operator or module with concrete argument shapes, strides, dtypes and values, free of torch.

A case is a specification. Its bytes are made by the oracle, from the rules below and the run's secret seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kagent_bench.model.names import OperatorName, ProblemName

ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
}
"""Bytes per element of each dtype that a case can hold, by torch's dtype name."""


MODULE_ORIGIN = "module"
"""Origin of the case of a module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralValues:
    """Exactly these elements, in every round."""

    data: bytes
    """Raw little-endian elements of the storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformValues:
    """Floating-point (or complex, per part) elements drawn afresh each round, nominally from [low, high)."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerValues:
    """Integer elements drawn afresh each round from low .. high, both included."""

    low: int
    high: int


ValueRule: TypeAlias = LiteralValues | UniformValues | IntegerValues


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSpec:
    """A flat run of elements that one or more tensor arguments look at."""

    dtype: str
    """torch's dtype name, a key of ``ITEM_BYTES``."""
    numel: int
    """Number of elements."""
    rule: ValueRule
    """How the elements get their values."""

    @property
    def n_bytes(self) -> int:
        """Size in bytes."""
        return self.numel * ITEM_BYTES[self.dtype]


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """A strided view of a storage; two arguments with one storage alias each other."""

    storage: int
    """Index into ``Case.storages``."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """Elements, not bytes."""
    offset: int = 0
    """Elements from the storage's start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolSpec:
    """A torch constant that is not a number: a dtype, layout, memory format, or the device under test."""

    kind: str
    """``dtype``, ``layout``, ``memory_format`` or ``device``."""
    name: str
    """torch's name, as ``float16`` or ``channels_last``; ``target`` for the device under test."""


Value: TypeAlias = "TensorSpec | SymbolSpec | bool | int | float | complex | str | tuple[Value, ...] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Computation:
    """What an operator makes of a round's values: sorted ones, probabilities, statistics that a forward saved."""

    operator: OperatorName
    """An ATen overload."""
    args: tuple[Value, ...]
    """Its arguments; tensors look at storages of the case, in float32 where those hold halves."""
    output: int
    """Which of the returned tensors is taken."""
    target: TensorSpec
    """The view of a storage that receives it, rounded to the storage's dtype."""


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """Who made a traced call."""

    model: str
    """Name of a model and phase, as ``llama/decode``."""
    count: int
    """How often it did."""
    modules: tuple[str, ...] = ()
    """Where in the model, with ``*`` for the numbers of layers: ``layers.*.mlp``; sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One call of an operator or a module to be judged."""

    id: str
    """Content hash of operator, arguments and storages: 12 hexadecimal digits."""
    operator: ProblemName
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...] = ()
    """Of a module: its parameters and buffers, by their names in its program."""
    storages: tuple[StorageSpec, ...] = ()
    computed: tuple[Computation, ...] = ()
    """What is computed, in this order, once all storages have the values of their rules."""
    dtype: str
    """The dtype that dtype filters look at, torch's name: that of the sample the case was recorded from,
    or of the first floating-point tensor of a trace line."""
    origin: str
    """Where the case comes from: ``direct``, ``inner``, ``inplace``, ``backward``, ``reference``, ``smoke``,
    ``derived:<rule>``, ``trace``, ``module``."""
    count: int = 1
    """How many recorded calls this case stands for."""
    sources: tuple[Source, ...] = ()
    """The models that made the call, where it is from a trace; not part of the identity."""

    @property
    def held_out(self) -> bool:
        """Whether generators never see this case: a fixed quarter of the cases, chosen by content hash.

        A module has one case, whose shapes its author gave; only its values are secret.
        """
        return self.origin != MODULE_ORIGIN and int(self.id[-2:], 16) % 4 == 0

    @property
    def input_bytes(self) -> int:
        """Bytes of all storages."""
        return sum(storage.n_bytes for storage in self.storages)
