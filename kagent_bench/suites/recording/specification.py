"""From the live arguments of an ATen call to its torch-free specification, with every value literal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import (
    ITEM_BYTES,
    LiteralValues,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STORAGE_ELEMENTS = 1 << 14
"""Elements of the largest storage that is recorded; larger ones would make the cache slow for nothing."""

KEPT_OFFSET = 1
"""Elements before the first used one that are kept of a larger storage offset: an odd offset is the hard one."""

_TARGET = SymbolSpec(kind="device", name="target")


class Unrepresentable(Exception):
    """An argument that a case cannot hold; the text is the reason code."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor argument and where it stands."""

    place: str
    """Argument index or name: ``0``, ``weight``."""
    tensor: TensorSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The arguments of a call as a specification."""

    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    storages: tuple[StorageSpec, ...]

    def tensors(self) -> list[Placed]:
        """Return the tensor arguments in order, elements of lists at the place of their list."""
        named: list[tuple[str, Value]] = [(str(index), value) for index, value in enumerate(self.args)]
        return [
            Placed(place, tensor) for place, value in [*named, *self.kwargs] for tensor in _tensors(value)
        ]

    def views(self) -> dict[int, list[TensorSpec]]:
        """Return the views of each storage."""
        views: dict[int, list[TensorSpec]] = {}
        for item in self.tensors():
            views.setdefault(item.tensor.storage, []).append(item.tensor)
        return views


def _tensors(value: Value) -> Iterator[TensorSpec]:
    if isinstance(value, TensorSpec):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _tensors(item)


def dtype_name(dtype: torch.dtype) -> str:
    """Return torch's name of a dtype, without the module."""
    return str(dtype).removeprefix("torch.")


def specify(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """Copy the arguments of a call, before the call can change them.

    Each storage keeps only the span that its views use. Arguments that share memory share a storage.
    Lazily conjugated or negated tensors are materialised.

    Raises:
        Unrepresentable: an argument that a case cannot hold.
    """
    writer = _Writer()
    specified = tuple(writer.value(value) for value in args)
    named = tuple((name, writer.value(value)) for name, value in kwargs.items())
    storages, placed = writer.finish()
    return Arguments(
        args=tuple(_place(value, placed) for value in specified),
        kwargs=tuple((name, _place(value, placed)) for name, value in named),
        storages=storages,
    )


@dataclass(slots=True)
class _Group:
    """The views of one storage."""

    dtype: torch.dtype
    views: list[torch.Tensor] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A tensor whose storage is not cut yet."""

    index: int


class _Writer:
    def __init__(self) -> None:
        self.groups: dict[int, _Group] = {}
        self.tensors: list[tuple[torch.Tensor, int]] = []

    def value(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, bool | int | float | complex | str):
            return value
        if isinstance(value, list | tuple):
            return tuple(self.value(item) for item in value)
        if isinstance(value, torch.dtype):
            return SymbolSpec(kind="dtype", name=dtype_name(value))
        if isinstance(value, torch.device):
            if value.type != "cpu":
                reason = "other_device"
                raise Unrepresentable(reason)
            return _TARGET
        if isinstance(value, torch.layout):
            return SymbolSpec(kind="layout", name=str(value).removeprefix("torch."))
        if isinstance(value, torch.memory_format):
            return SymbolSpec(kind="memory_format", name=str(value).removeprefix("torch."))
        reason = "generator" if isinstance(value, torch.Generator) else f"{type(value).__name__}_argument"
        raise Unrepresentable(reason)

    def _tensor(self, tensor: torch.Tensor) -> _Pending:
        _refuse_unusual(tensor)
        if tensor.is_conj() or tensor.is_neg():
            tensor = tensor.resolve_conj().resolve_neg()
        address = tensor.untyped_storage().data_ptr()
        key = address or -(len(self.tensors) + 1)
        group = self.groups.setdefault(key, _Group(tensor.dtype))
        if group.dtype != tensor.dtype:
            reason = "storage_of_two_dtypes"
            raise Unrepresentable(reason)
        group.views.append(tensor)
        self.tensors.append((tensor, key))
        return _Pending(len(self.tensors) - 1)

    def finish(self) -> tuple[tuple[StorageSpec, ...], tuple[TensorSpec, ...]]:
        """Cut each storage to what is used; return the storages and the placed tensors."""
        storages: list[StorageSpec] = []
        index: dict[int, int] = {}
        shift: dict[int, int] = {}
        for key, group in self.groups.items():
            start = min((int(view.storage_offset()) for view in group.views if view.numel()), default=0)
            start = max(start - KEPT_OFFSET, 0) if start else 0
            stop = max((_end(view) for view in group.views if view.numel()), default=start)
            index[key] = len(storages)
            shift[key] = start
            storages.append(
                _literal([view for view in group.views if view.numel()] or group.views, start, stop)
            )
        placed = tuple(
            TensorSpec(
                storage=index[key],
                shape=tuple(tensor.shape),
                stride=tensor.stride(),
                offset=int(tensor.storage_offset()) - shift[key] if tensor.numel() else 0,
            )
            for tensor, key in self.tensors
        )
        return tuple(storages), placed


def _refuse_unusual(tensor: torch.Tensor) -> None:
    reason = ""
    if type(tensor) not in {torch.Tensor, torch.nn.Parameter}:
        reason = "tensor_subclass"
    elif tensor.layout != torch.strided:
        reason = f"{str(tensor.layout).removeprefix('torch.')}_tensor"
    elif tensor.is_quantized or dtype_name(tensor.dtype) not in ITEM_BYTES:
        reason = f"{dtype_name(tensor.dtype)}_tensor"
    elif tensor.device.type != "cpu":
        reason = f"{tensor.device.type}_tensor"
    elif tensor.is_nested:
        reason = "nested_tensor"
    if reason:
        raise Unrepresentable(reason)


def _end(view: torch.Tensor) -> int:
    """Return the storage index after the last element that the view uses."""
    reach = sum((size - 1) * step for size, step in zip(view.shape, view.stride(), strict=True))
    return int(view.storage_offset()) + reach + 1


def _literal(views: list[torch.Tensor], start: int, stop: int) -> StorageSpec:
    """Copy a span of a storage; elements that no view uses become zero, whatever the memory held."""
    first = views[0].detach()
    numel = stop - start
    if numel > MAX_STORAGE_ELEMENTS:
        reason = "too_large"
        raise Unrepresentable(reason)
    data = b""
    if numel:
        flat = first.as_strided((numel,), (1,), start).contiguous()
        if numel > first.numel():
            used = torch.zeros(numel, dtype=torch.bool)
            for view in views:
                used.as_strided(view.shape, view.stride(), int(view.storage_offset()) - start).fill_(
                    value=True
                )
            flat = flat.masked_fill(~used, 0)
        data = flat.view(torch.uint8).numpy().tobytes()
    return StorageSpec(dtype=dtype_name(first.dtype), numel=numel, rule=LiteralValues(data=data))


def _place(value: Any, placed: tuple[TensorSpec, ...]) -> Any:
    if isinstance(value, _Pending):
        return placed[value.index]
    if isinstance(value, tuple):
        return tuple(_place(item, placed) for item in value)
    return value
