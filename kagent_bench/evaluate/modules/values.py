"""From the tensors of a live module to storages with value rules, so that every round draws values of their kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import (
    IntegerValues,
    LiteralValues,
    StorageSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LITERAL_BYTES = 4 << 20
"""Bytes of the largest tensor that is kept value by value; a problem travels in messages of 16 MiB."""
CONSTANT_SPREAD = 0.5
"""Distance from its value up to which a constant tensor is drawn: a weight of ones and a bias of zeros, as a fresh
module has them, would let a kernel ignore them; a running variance of one stays positive."""
STRUCTURED_SHARE = 0.05
"""Share of zeros from which on a floating-point tensor has structure (triangular, masked), which is kept."""


class TooMuchStructure(Exception):
    """A tensor that must be kept value by value and is too large for that."""


class StorageWriter:
    """Collects the storages of a call; tensors that share memory share a storage."""

    def __init__(self) -> None:
        """Start with none."""
        self.storages: list[StorageSpec] = []
        self._known: dict[tuple[int, torch.dtype], int] = {}
        self._kept: list[torch.Tensor] = []

    def argument(self, value: Any) -> Value:
        """Return the specification of one argument.

        Raises:
            TypeError: an argument that a case cannot hold.
            TooMuchStructure: see there.
        """
        if isinstance(value, torch.Tensor):
            return self.tensor(value, is_buffer=False)
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        if isinstance(value, list | tuple):
            return tuple(self.argument(item) for item in value)
        message = f"an argument of type {type(value).__name__}"
        raise TypeError(message)

    def state(self, named: Mapping[str, tuple[torch.Tensor, bool]]) -> tuple[tuple[str, Value], ...]:
        """Return the specification of parameters and buffers.

        Args:
            named: by name, the tensor and whether it is a buffer.
        """
        return tuple(
            (name, self.tensor(value, is_buffer=is_buffer)) for name, (value, is_buffer) in named.items()
        )

    def tensor(self, value: torch.Tensor, *, is_buffer: bool) -> TensorSpec:
        """Return the specification of a tensor; its strides stay, its offset is dropped."""
        value = value.detach()
        self._kept.append(value)  # a freed tensor's address may come again
        extent = 1 + sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
        extent = extent if value.numel() else 0
        place = (value.data_ptr(), value.dtype)
        index = self._known.get(place) if value.numel() else None
        if index is None:
            index = len(self.storages)
            self._known[place] = index
            flat = value.as_strided((extent,), (1,)) if extent else value.new_empty(0)
            self.storages.append(
                StorageSpec(
                    dtype=str(value.dtype).removeprefix("torch."),
                    numel=extent,
                    rule=rule_for(flat, value, is_buffer=is_buffer),
                )
            )
        elif extent > self.storages[index].numel:
            self.storages[index] = replace(self.storages[index], numel=extent)
        return TensorSpec(storage=index, shape=tuple(value.shape), stride=value.stride())


def rule_for(flat: torch.Tensor, seen: torch.Tensor, *, is_buffer: bool) -> ValueRule:
    """Return how the elements of a storage are drawn.

    Args:
        flat: all elements.
        seen: those that the argument shows.
        is_buffer: whether it is a buffer, whose values usually have a meaning.

    Raises:
        TooMuchStructure: the values must stay and are too many.
    """
    if not seen.numel():
        return LiteralValues(data=b"")
    if seen.is_complex():
        parts = torch.view_as_real(seen.resolve_conj())
        return UniformValues(low=float(parts.min()), high=float(parts.max()))
    if not seen.is_floating_point():
        bounds = int(seen.min()), int(seen.max())
        if seen.dtype is torch.bool or is_buffer or _is_arange(seen):
            return _literal(flat)
        return IntegerValues(low=bounds[0], high=bounds[1])
    low, high = float(seen.min()), float(seen.max())
    if low == high and torch.isfinite(seen).all():
        return UniformValues(low=low - CONSTANT_SPREAD, high=high + CONSTANT_SPREAD)
    zeros = float((seen == 0).double().mean())
    if is_buffer or zeros > STRUCTURED_SHARE or not bool(torch.isfinite(seen).all()):
        return _literal(flat)
    return UniformValues(low=low, high=high)


def literal_storage(dense: torch.Tensor) -> StorageSpec:
    """Return a storage with exactly the elements of a contiguous tensor.

    Raises:
        TooMuchStructure: it is too large.
    """
    return StorageSpec(
        dtype=str(dense.dtype).removeprefix("torch."), numel=dense.numel(), rule=_literal(dense.flatten())
    )


def _is_arange(seen: torch.Tensor) -> bool:
    """Return whether integers count up along the last dimension, as positions do: they are not redrawn."""
    return seen.dim() > 0 and seen.shape[-1] > 1 and bool((seen.diff(dim=-1) == 1).all())


def _literal(flat: torch.Tensor) -> LiteralValues:
    n_bytes = flat.numel() * flat.element_size()
    if n_bytes > MAX_LITERAL_BYTES:
        message = f"{n_bytes} bytes of values that have a structure; at most {MAX_LITERAL_BYTES} are kept"
        raise TooMuchStructure(message)
    if not flat.numel():
        return LiteralValues(data=b"")
    return LiteralValues(data=flat.contiguous().cpu().view(torch.uint8).numpy().tobytes())
