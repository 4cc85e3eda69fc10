"""Programs: a module's computation as a graph of ATen calls, free of torch. A module problem's reference is one.

A program is data, so a problem file runs only in the throwaway process that records it: the oracle interprets the
program, generators read it, and it travels between processes as JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import StorageSpec, SymbolSpec, TensorSpec
    from kagent_bench.model.names import ModuleName

GET_ITEM = "getitem"
"""Operator of a node that takes one result of a node with several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRef:
    """The value of an input, state, constant or node, by its name."""

    name: str


Argument: TypeAlias = (
    "NodeRef | SymbolSpec | bool | int | float | complex | str | tuple[Argument, ...] | None"
)
"""An argument of a node."""
Output: TypeAlias = "NodeRef | bool | int | float | str | tuple[Output, ...] | None"
"""What a program returns: a reference, a constant, or a sequence of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFacts:
    """What is known of a tensor without its values."""

    dtype: str
    """torch's name, a key of ``model.case.ITEM_BYTES``."""
    shape: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A value that comes from outside: an argument of the module, or an item of its state."""

    name: str
    """Identifier, unique in the program."""
    facts: TensorFacts | None
    """None for an argument that is no tensor."""
    paths: tuple[str, ...] = ()
    """Qualified names of a parameter or buffer, as ``layers.0.weight``, several if it is tied; none for an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A tensor that the module's code holds in itself."""

    name: str
    storage: StorageSpec
    """Its elements, literal."""
    tensor: TensorSpec
    """How it looks at them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One ATen call."""

    name: str
    operator: str
    """``aten.add.Tensor``, or ``getitem``."""
    args: tuple[Argument, ...]
    kwargs: tuple[tuple[str, Argument], ...] = ()
    results: tuple[TensorFacts | None, ...] = ()
    """The tensors that it returns, in order; None for a result that is no tensor."""
    where: str = ""
    """The submodule that it comes from, as ``layers.0``."""
    line: str = ""
    """The user's line of source that it comes from."""

    def refs(self) -> Iterator[str]:
        """Yield the names of the values that it uses, in order, with repetitions."""
        for value in (*self.args, *(value for _, value in self.kwargs)):
            yield from references(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A graph of ATen calls in an order in which they can run."""

    inputs: tuple[Input, ...]
    """The module's arguments, flattened, in order."""
    state: tuple[Input, ...]
    """Parameters and buffers, in the module's order."""
    constants: tuple[Constant, ...]
    nodes: tuple[Node, ...]
    output: Output
    writes: tuple[tuple[str, str], ...] = ()
    """Inputs or state that the module changes, each with the node whose value is written into it at the end."""

    def facts(self) -> dict[str, TensorFacts | None]:
        """Return what is known of every value by name; of a node with several results, of none."""
        found: dict[str, TensorFacts | None] = {item.name: item.facts for item in (*self.inputs, *self.state)}
        for constant in self.constants:
            tensor = constant.tensor
            found[constant.name] = TensorFacts(
                dtype=constant.storage.dtype, shape=tensor.shape, stride=tensor.stride
            )
        for node in self.nodes:
            found[node.name] = node.results[0] if len(node.results) == 1 else None
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A module problem: the program that is its reference, and what a candidate's class needs."""

    name: ModuleName
    program: Program
    source: str
    """Text of the problem file."""
    init: tuple[InitValue, ...] | None
    """Arguments of the class, None where they are not plain values: only ``kernel_function`` can be judged then."""
    init_kwargs: tuple[tuple[str, InitValue], ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader of the verdict should know, such as the way in which the program was recorded."""


InitValue: TypeAlias = "bool | int | float | str | tuple[InitValue, ...] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a problem file is no problem: its own status, which no kernel is to blame for."""

    reason: str
    """Reason code, as ``problem_raises``."""
    detail: str
    """What happened, where."""


def references(value: Argument | Output) -> Iterator[str]:
    """Yield the names that a value refers to, in order."""
    if isinstance(value, NodeRef):
        yield value.name
    elif isinstance(value, tuple):
        for item in value:
            yield from references(item)
