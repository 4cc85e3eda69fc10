"""Definitions: what the table says of an operator, as values that the frames turn into kernel files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


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


def pointwise(  # noqa: PLR0913 - a row of a table
    summary: str,
    body: Callable[..., Any],
    *,
    result: Result = Result.COMMON,
    promotes: tuple[str, ...] = (),
    unpromoted: tuple[str, ...] = (),
    numbers: Mapping[str, str] | None = None,
    checks: tuple[tuple[str, str], ...] = (),
) -> Pointwise:
    """Return the definition of an elementwise operator that has one formula."""
    return Pointwise(
        summary=summary,
        variants=(Variant(name="", when="", body=body, result=result),),
        promotes=promotes,
        unpromoted=unpromoted,
        numbers=numbers or {},
        checks=checks,
    )
