"""One traced call as its file has it: tensors by shape, dtype and stride, without values or memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kagent_bench.model.case import Source, SymbolSpec
    from kagent_bench.model.names import OperatorName


@dataclass(frozen=True, slots=True)
class TracedTensor:
    """A tensor argument."""

    shape: tuple[int, ...]
    dtype: str
    """torch's name."""
    stride: tuple[int, ...] | None = None
    """Elements; None for row-major order without gaps."""

    def resized(self, shape: tuple[int, ...]) -> TracedTensor:
        """Return it with other sizes: the dimensions keep their order in memory, gaps, and what repeats without memory."""
        if self.stride is None:
            return replace(self, shape=shape)
        given, stride = self.stride, list(self.stride)
        dense = dense_before = 1
        for index in sorted(range(len(stride)), key=lambda index: (given[index], self.shape[index])):
            step = stride[index]
            if step:
                gap, rest = divmod(step, dense_before)
                stride[index] = step if rest or not gap else dense * gap
                dense, dense_before = stride[index] * shape[index], step * self.shape[index]
        return replace(self, shape=shape, stride=tuple(stride))


@dataclass(frozen=True, slots=True)
class SparseTensor:
    """A sparse tensor argument: it can be read and written, and makes no case."""

    shape: tuple[int, ...]
    dtype: str
    layout: str
    """torch's name: ``sparse_coo``, ..."""
    coalesced: bool | None = None
    nnz: int | None = None


TracedValue: TypeAlias = (
    "TracedTensor | SparseTensor | SymbolSpec | bool | int | float | complex | str"
    " | tuple[TracedValue, ...] | None"
)


@dataclass(frozen=True, slots=True)
class Arguments:
    """What stands in one line of a trace: the arguments of a call."""

    args: tuple[TracedValue, ...]
    kwargs: tuple[tuple[str, TracedValue], ...] = ()

    def tensors(self) -> Iterator[TracedTensor | SparseTensor]:
        """Yield the tensors in order, those in lists too."""
        yield from _tensors((*self.args, *(value for _, value in self.kwargs)))


def _tensors(value: TracedValue) -> Iterator[TracedTensor | SparseTensor]:
    if isinstance(value, TracedTensor | SparseTensor):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _tensors(item)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedCall:
    """One line of a trace."""

    operator: OperatorName
    arguments: Arguments
    count: int
    """How often it was called; 0 for a call that was made up."""
    sources: tuple[Source, ...] = ()
    excluded: tuple[str, ...] = ()
    """Why the file itself leaves the call out of a benchmark; empty for one that is in."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """A line that could not be read."""

    file: str
    line: int
    """From 1."""
    column: int
    """From 1."""
    message: str

    def __str__(self) -> str:
        """Return ``file:line:column: message``."""
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What a trace file holds."""

    calls: tuple[TracedCall, ...]
    problems: tuple[Problem, ...] = ()
    header: tuple[tuple[str, str], ...] = ()
    """What the file says of itself, as ``("revision", "...")``."""
