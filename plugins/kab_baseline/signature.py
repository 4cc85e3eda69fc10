"""Signatures: the ATen schema of an operator as the Python signature of its kernel function."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kagent_bench.model.names import OperatorName


class Writes(Enum):
    """Where an operator puts its result."""

    NEW = "new"
    """Into tensors that it allocates."""
    SELF = "self"
    """Into its first argument, which it returns."""
    OUT = "out"
    """Into keyword-only arguments, which it returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a schema."""

    name: str
    type: str
    """TorchScript's spelling: ``Tensor``, ``number``, ``Optional[Tensor]``, ``List[int]``, ..."""
    keyword_only: bool
    default: str | None
    """Python source of the default, None where there is none."""
    is_written: bool

    @property
    def is_tensor(self) -> bool:
        """Whether it is a tensor that must be given."""
        return self.type == "Tensor"

    @property
    def is_maybe_tensor(self) -> bool:
        """Whether it is a tensor or None."""
        return self.type == "Optional[Tensor]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The arguments of an operator, in schema order."""

    operator: OperatorName
    schema: str
    parameters: tuple[Parameter, ...]
    n_results: int

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Every parameter but the ``out`` ones."""
        return tuple(item for item in self.parameters if not (item.is_written and item.keyword_only))

    @property
    def outs(self) -> tuple[Parameter, ...]:
        """The ``out`` parameters."""
        return tuple(item for item in self.parameters if item.is_written and item.keyword_only)

    @property
    def writes(self) -> Writes:
        """Where the result goes."""
        if self.outs:
            return Writes.OUT
        return Writes.SELF if any(item.is_written for item in self.parameters) else Writes.NEW

    @property
    def names(self) -> frozenset[str]:
        """Names of all parameters."""
        return frozenset(item.name for item in self.parameters)

    def definition(self) -> str:
        """Return the ``def`` line of the kernel function."""
        items: list[str] = []
        starred = False
        for item in self.parameters:
            if item.keyword_only and not starred:
                items.append("*")
                starred = True
            items.append(item.name if item.default is None else f"{item.name}={item.default}")
        return f"def {self.operator.kernel_function}({', '.join(items)}):"


def read_signature(operator: OperatorName) -> Signature | None:
    """Return the signature of an ATen overload, None where this torch has no such overload."""
    packet = getattr(torch.ops.aten, operator.base, None)
    overload = getattr(packet, operator.overload, None) if packet is not None else None
    if overload is None:
        return None
    schema = overload._schema  # noqa: SLF001 - torch has no public way to the schema
    parameters = tuple(
        Parameter(
            name=item.name,
            type=str(item.type),
            keyword_only=item.kwarg_only,
            default=_default(item.default_value) if item.has_default_value() else None,
            is_written=item.alias_info is not None and item.alias_info.is_write,
        )
        for item in schema.arguments
    )
    return Signature(
        operator=operator, schema=str(schema), parameters=parameters, n_results=len(schema.returns)
    )


def _default(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "(" + "".join(f"{item!r}, " for item in value).strip() + ")" if value else "()"
    return repr(value)
