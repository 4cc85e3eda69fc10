"""Facts about an operator, taken from its ATen schema: signature, what it writes to, what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import InputError

if TYPE_CHECKING:
    from kagent_bench.model.names import OperatorName


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSchema:
    """What the schema of an operator says."""

    text: str
    """The schema as PyTorch writes it: ``aten::relu(Tensor self) -> Tensor``."""
    signature: str
    """The parameters as Python writes them: ``self, other, *, alpha=1``."""
    writes: tuple[str, ...]
    """Arguments that the operator changes."""
    out: bool
    """Whether the written arguments are ``out=`` arguments, which are resized if need be."""
    returns: tuple[str, ...]
    """For each return: the written or viewed argument that it is (a view of), or empty for a new value."""
    returns_written: bool
    """Whether the returns are the written arguments themselves."""
    tags: frozenset[str]
    """PyTorch's tags, such as ``pointwise`` or ``reduction``."""


def find_overload(operator: OperatorName) -> Any:
    """Return torch's object of an operator.

    Raises:
        InputError: the installed torch has no such operator.
    """
    import torch

    packet = getattr(torch.ops.aten, operator.base, None)
    overload = getattr(packet, operator.overload, None)
    if overload is None:
        message = f"torch {torch.__version__} has no operator aten.{operator}"
        hint = "build the suite again with this torch, or install the torch that the suite was built with"
        raise InputError(message, hint=hint)
    return overload


@cache
def read_schema(operator: OperatorName) -> OperatorSchema:
    """Return the facts of an operator's schema.

    Raises:
        InputError: the installed torch has no such operator.
    """
    overload = find_overload(operator)
    schema = overload._schema  # noqa: SLF001 - the only way to a schema
    writes = tuple(item.name for item in schema.arguments if _is_written(item))
    return OperatorSchema(
        text=str(schema),
        signature=_signature(schema.arguments),
        writes=writes,
        out=bool(writes) and all(item.is_out for item in schema.arguments if _is_written(item)),
        returns=tuple(_source(item, schema.arguments) for item in schema.returns),
        returns_written=bool(schema.returns) and all(_is_written(item) for item in schema.returns),
        tags=frozenset(tag.name for tag in overload.tags),
    )


def _is_written(item: Any) -> bool:
    return item.alias_info is not None and item.alias_info.is_write


def _source(item: Any, arguments: Any) -> str:
    if item.alias_info is None:
        return ""
    names = item.alias_info.before_set | item.alias_info.after_set
    for argument in arguments:
        if argument.alias_info is not None and names & argument.alias_info.before_set:
            return str(argument.name)
    return next((str(argument.name) for argument in arguments if argument.alias_info is not None), "")


def _signature(arguments: Any) -> str:
    parts = []
    keywords = False
    for argument in arguments:
        if argument.kwarg_only and not keywords:
            parts.append("*")
            keywords = True
        name = str(argument.name)
        parts.append(f"{name}={argument.default_value!r}" if argument.has_default_value() else name)
    return ", ".join(parts)
