"""From a specification back to live arguments: used to try cases out in eager mode while recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import (
    LiteralValues,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def materialise(
    args: Iterable[Value],
    kwargs: Iterable[tuple[str, Value]],
    storages: Iterable[StorageSpec],
    generator: torch.Generator,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return fresh live arguments on the CPU, drawing the values of rules from ``generator``.

    Raises:
        AttributeError: a symbol that this torch does not have.
    """
    flat = [_storage(storage, generator) for storage in storages]
    live = tuple(_value(value, flat) for value in args)
    return live, {name: _value(value, flat) for name, value in kwargs}


def _storage(storage: StorageSpec, generator: torch.Generator) -> torch.Tensor:
    dtype = getattr(torch, storage.dtype)
    rule = storage.rule
    if isinstance(rule, LiteralValues):
        if not rule.data:
            return torch.empty(0, dtype=dtype)
        return torch.frombuffer(bytearray(rule.data), dtype=dtype)
    if isinstance(rule, UniformValues):
        flat = torch.empty(storage.numel, dtype=dtype)
        real = torch.view_as_real(flat) if dtype.is_complex else flat
        real.uniform_(rule.low, rule.high, generator=generator)
        return flat
    return torch.randint(rule.low, rule.high + 1, (storage.numel,), dtype=dtype, generator=generator)


def _value(value: Value, flat: list[torch.Tensor]) -> Any:
    if isinstance(value, TensorSpec):
        return flat[value.storage].as_strided(value.shape, value.stride, value.offset)
    if isinstance(value, SymbolSpec):
        return torch.device("cpu") if value.kind == "device" else getattr(torch, value.name)
    if isinstance(value, tuple):
        return [_value(item, flat) for item in value]
    return value
