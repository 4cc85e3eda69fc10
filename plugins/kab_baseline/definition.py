"""Definitions: what the table says of an operator, as values that the frames turn into kernel files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kab_baseline.primitives import parameter_names


class Result(Enum):
    """Data type of an elementwise result."""

    COMMON = "common"
    """The promoted data type of the operands."""
    FLOAT = "float"
    """The promoted data type, or the default floating one where that is integral; also computed in it."""
    BOOL = "bool"
    """Boolean; computed in the promoted data type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One formula of an elementwise operator, for a condition on its arguments."""

    name: str
    """Suffix of the kernel's name; empty for the only variant."""
    when: str
    """Python condition on the arguments; empty for otherwise."""
    body: Callable[..., Any]
    """The formula over primitives. Its parameters are named after arguments of the schema."""
    result: Result = Result.COMMON
    names: tuple[str, ...] | None = None
    """Names of the body's operands, where its own signature does not tell."""

    def operand_names(self) -> tuple[str, ...]:
        """Return the names of the body's operands: arguments of the schema."""
        return parameter_names(self.body) if self.names is None else self.names


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointwise:
    """An elementwise operator in all its overloads."""

    summary: str
    """The formula in words, for the docstring of the file."""
    variants: tuple[Variant, ...]
    """The first whose condition holds is used."""
    promotes: tuple[str, ...] = ()
    """Number arguments that take part in type promotion; tensors always do."""
    unpromoted: tuple[str, ...] = ()
    """Tensors that take no part in it and are read in their own data type."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Host expression for a number argument that the kernel cannot take as it is; may use ``dtype``."""
    checks: tuple[tuple[str, str], ...] = ()
    """Host conditions under which eager refuses, each with the message; may use ``dtype``."""
    ignores: tuple[str, ...] = ()
    """Arguments that have no influence on the result."""
    dtype: str = ""
    """Host expression of the data type where operands are not promoted with each other."""
    contiguous: bool = False
    """Whether a new result is contiguous whatever the layout of the operands."""


def pointwise(
    summary: str,
    body: Callable[..., Any],
    *,
    result: Result = Result.COMMON,
    promotes: tuple[str, ...] = (),
    unpromoted: tuple[str, ...] = (),
    numbers: Mapping[str, str] | None = None,
    checks: tuple[tuple[str, str], ...] = (),
    ignores: tuple[str, ...] = (),
    dtype: str = "",
    contiguous: bool = False,
) -> Pointwise:
    """Return the definition of an elementwise operator that has one formula."""
    return Pointwise(
        summary=summary,
        variants=(Variant(name="", when="", body=body, result=result),),
        promotes=promotes,
        unpromoted=unpromoted,
        numbers=numbers or {},
        checks=checks,
        ignores=ignores,
        dtype=dtype,
        contiguous=contiguous,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowResult:
    """One result of an operator over rows."""

    name: str
    """Name of the variable in the host function."""
    dtype: str
    """Host expression of its data type; may use ``dtype``."""
    per_element: bool = False
    """Whether it has the full shape, else one value for each row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """An operator that reduces rows, and may use what it got for each element of the row again."""

    summary: str
    """The formula in words, for the docstring of the file."""
    variants: tuple[Variant, ...]
    """The first whose condition holds is used. ``result`` has no meaning here; a body may also name
    ``count``, the number of elements in a row."""
    results: tuple[RowResult, ...]
    operands: tuple[str, ...] = ("self",)
    """The tensors among the body's operands; the first gives shape and device."""
    dims: str = "reduced_dims(dim, self.dim())"
    """Host expression of the dimensions that form a row."""
    keepdim: str = "keepdim"
    """Host expression for whether reduced dimensions stay."""
    shape: str = "tuple(self.shape)"
    """Host expression of the full shape."""
    dtype: str = "self.dtype"
    """Host expression of the data type whose compute type is used."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Host expression for a number argument that the kernel cannot take as it is."""
    prepare: tuple[str, ...] = ()
    """Host lines that come first: checks, defaults."""
    returns: str = ""
    """Host expression of what is returned; empty for the results in order."""
    largest_columns: int = 1024
    """Most columns of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product of two (batches of) matrices, with a pointwise formula around it."""

    summary: str
    """The formula in words, for the docstring of the file."""
    body: Callable[..., Any]
    """The formula; it calls ``primitives.matrix_product`` on two of its operands, once."""
    views: Mapping[str, str] = field(default_factory=dict)
    """Host expression of each tensor operand as a matrix, or a batch of them where ``batched``."""
    result_shape: str = ""
    """Host expression of the result's shape."""
    batched: bool = False
    """Whether operands and result have a leading batch dimension."""
    result_view: str = "out"
    """Host expression of the result as a matrix or batch of matrices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A pointwise formula that ``reduction`` sums up: 0 for each element, 1 the mean, 2 the sum."""

    summary: str
    """The formula in words, for the docstring of the file."""
    body: Callable[..., Any]
    """The formula for one element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """A running sum or product along a dimension."""

    summary: str
    """The formula in words, for the docstring of the file."""
    scan: str
    """Triton's scan, as ``tl.cumsum``."""
    start: int
    """Value before the first element."""
    combine: str
    """Operator that joins a block with what came before it."""
