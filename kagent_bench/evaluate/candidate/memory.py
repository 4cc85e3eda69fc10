"""The candidate's view of the arena: tensor arguments built over the shared pages, or over device copies of them."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from kagent_bench.evaluate.arena import GUARD_BYTES
from kagent_bench.model.case import SymbolSpec, TensorSpec, Value
from kagent_bench.model.identity import decode_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Memory of one input as the kernel sees it."""

    untyped: torch.UntypedStorage
    base: int
    """Bytes from the storage's start to the input's first element: guard bands lie before it on a device."""
    n_bytes: int

    @property
    def address(self) -> int:
        """Address of the input's first element."""
        return self.untyped.data_ptr() + self.base


class Call:
    """One case's call: where its inputs lie and the arguments that look at them."""

    def __init__(self, header: dict[str, Any], memory: mmap.mmap, device: str) -> None:
        """Lay the arguments over the arena.

        Args:
            header: the oracle's description of the call.
            memory: the mapped arena.
            device: torch's device string; on another device than the CPU inputs are copied there for each call.
        """
        self._header = header
        self.output_at, self.output_bytes = header["output"]
        self._memory = memory
        self._device = torch.device(device)
        self.regions = [tuple(region) for region in header["regions"]]
        self._dtypes = [getattr(torch, name) for name in header["dtypes"]]
        self.storages = [self._storage(*region) for region in self.regions]
        self._known: dict[int, tuple[torch.Tensor, tuple[Any, ...]]] = {}
        self._args = [decode_value(value) for value in header["args"]]
        self._kwargs = {name: decode_value(value) for name, value in header["kwargs"].items()}

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments for one call, laid over the arena.

        The same tensor objects come again with other contents, so that a result kept by an object's identity shows.
        But an operator such as ``unsqueeze_`` changes how its argument looks at memory; the next call gets another.
        """
        args = [self._build(value) for value in self._args]
        return args, {name: self._build(value) for name, value in self._kwargs.items()}

    def over(self, flat: torch.Tensor, offsets: Sequence[int]) -> Call:
        """Return the same call with its inputs in other memory.

        Args:
            flat: uint8, on this call's device.
            offsets: bytes from its start to each input.
        """
        other = Call(self._header, self._memory, str(self._device))
        other.storages = [
            Storage(untyped=flat.untyped_storage(), base=offset, n_bytes=n_bytes)
            for offset, (_, n_bytes) in zip(offsets, self.regions, strict=True)
        ]
        return other

    def _storage(self, offset: int, n_bytes: int) -> Storage:
        if self._device.type == "cpu":
            if not n_bytes:
                return Storage(untyped=torch.empty(0, dtype=torch.uint8).untyped_storage(), base=0, n_bytes=0)
            flat = torch.frombuffer(self._memory, dtype=torch.uint8, offset=offset, count=n_bytes)
            return Storage(untyped=flat.untyped_storage(), base=0, n_bytes=n_bytes)
        total = n_bytes + 2 * GUARD_BYTES
        flat = torch.empty(total, dtype=torch.uint8, device=self._device)
        return Storage(untyped=flat.untyped_storage(), base=GUARD_BYTES, n_bytes=n_bytes)

    def to_device(self) -> None:
        """Copy the inputs with their guard bands to the device; nothing to do on the CPU."""
        self._copy(to_device=True)

    def from_device(self) -> None:
        """Copy the inputs with their guard bands back, so that the oracle sees what was written."""
        self._copy(to_device=False)

    def _copy(self, *, to_device: bool) -> None:
        if self._device.type == "cpu":
            return
        for (offset, n_bytes), storage in zip(self.regions, self.storages, strict=True):
            total = n_bytes + 2 * GUARD_BYTES
            host = torch.frombuffer(self._memory, dtype=torch.uint8, offset=offset - GUARD_BYTES, count=total)
            there = torch.empty(0, dtype=torch.uint8, device=self._device).set_(
                storage.untyped, 0, (total,), (1,)
            )
            if to_device:
                there.copy_(host)
            else:
                host.copy_(there)

    def _build(self, value: Value) -> Any:
        if isinstance(value, TensorSpec):
            known, facts = self._known.get(id(value), (None, ()))
            if known is None or facts != _facts(known):
                known = self._tensor(value)
                self._known[id(value)] = (known, _facts(known))
            return known
        if isinstance(value, SymbolSpec):
            if value.kind == "device":
                return self._device if value.name == "target" else torch.device(value.name)
            return getattr(torch, value.name)
        if isinstance(value, tuple):
            return [self._build(item) for item in value]
        return value

    def _tensor(self, value: TensorSpec) -> torch.Tensor:
        dtype = self._dtypes[value.storage]
        storage = self.storages[value.storage]
        empty = torch.empty(0, dtype=dtype, device=self._device)
        if not storage.n_bytes:
            return torch.empty_strided(value.shape, value.stride, dtype=dtype, device=self._device)
        offset = value.offset + storage.base // dtype.itemsize
        return empty.set_(storage.untyped, offset, value.shape, value.stride)


def _facts(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Return how a tensor looks at memory, and what a kernel may have hung on it."""
    where = (tensor.data_ptr(), tensor.storage_offset())
    return tuple(tensor.shape), tensor.stride(), where, tensor.dtype, tensor.requires_grad, bool(vars(tensor))
