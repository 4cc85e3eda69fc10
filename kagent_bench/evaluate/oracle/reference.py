"""Running the operator itself: eagerly as PyTorch users do, and in float64 as the judge of both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.modules.interpret import WIDER, ProgramRun
from kagent_bench.model.case import SymbolSpec, TensorSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kagent_bench.model.case import Case, Value


class ReferenceFailed(Exception):
    """The operator raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of the operator returned and left behind."""

    value: Any
    """The returned object: a tensor, a number, None, or a sequence of these."""
    leaves: tuple[torch.Tensor, ...]
    """The tensors in ``value``, in order."""
    storages: tuple[torch.Tensor, ...]
    """The flat storages after the run, one per storage of the case."""

    def on(self, device: torch.device | str) -> Outcome:
        """Return the same with its tensors on a device."""
        return replace(
            self,
            leaves=tuple(leaf.to(device) for leaf in self.leaves),
            storages=tuple(storage.to(device) for storage in self.storages),
        )

    def alias_of(self, leaf: torch.Tensor) -> int | None:
        """Return which storage an output looks at, or None for a fresh one."""
        address = leaf.untyped_storage().data_ptr()
        for index, storage in enumerate(self.storages):
            if address and storage.untyped_storage().data_ptr() == address:
                return index
        return None


def run(
    operator: Callable[..., Any], case: Case, storages: Sequence[torch.Tensor], *, wide: bool = False
) -> Outcome:
    """Run an operator on private copies of the storages.

    Args:
        operator: the callable: a ``torch.ops.aten`` overload, or a module's program.
        case: its arguments.
        storages: flat tensors, one per storage of the case; not changed.
        wide: compute in float64 (complex128): storages are upcast, so that views stay views, and dtype
            arguments are rewritten.

    Raises:
        ReferenceFailed: the operator raised.
    """
    device = storages[0].device if storages else torch.device("cpu")
    private = tuple(
        storage.to(WIDER.get(storage.dtype, storage.dtype), copy=True) if wide else storage.clone()
        for storage in storages
    )
    args = [build(value, private, device, wide=wide) for value in case.args]
    kwargs = {name: build(value, private, device, wide=wide) for name, value in case.kwargs}
    callee = operator.widened() if wide and isinstance(operator, ProgramRun) else operator
    try:
        with torch.no_grad():
            value = callee(*args, **kwargs)
    except MemoryError:
        raise
    except Exception as error:
        if out_of_memory(error):
            raise MemoryError(str(error)) from error
        raise ReferenceFailed(f"{type(error).__name__}: {error}") from error
    return Outcome(value=value, leaves=tuple(tensors_in(value)), storages=private)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory is used up."""
    text = str(error)
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "can't allocate memory" in text


def build(value: Value, storages: Sequence[torch.Tensor], device: torch.device, *, wide: bool) -> Any:
    """Return the argument that a value stands for, with tensors looking at the given storages."""
    if isinstance(value, TensorSpec):
        storage = storages[value.storage]
        return torch.as_strided(storage, value.shape, value.stride, storage.storage_offset() + value.offset)
    if isinstance(value, SymbolSpec):
        return _symbol(value, device, wide=wide)
    if isinstance(value, tuple):
        return [build(item, storages, device, wide=wide) for item in value]
    return value


def _symbol(value: SymbolSpec, device: torch.device, *, wide: bool) -> Any:
    if value.kind == "device":
        return device if value.name == "target" else torch.device(value.name)
    symbol = getattr(torch, value.name)
    return WIDER.get(symbol, symbol) if wide and value.kind == "dtype" else symbol


def tensors_in(value: object) -> list[torch.Tensor]:
    """Return the tensors of a returned object, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in tensors_in(item)]
    return []
