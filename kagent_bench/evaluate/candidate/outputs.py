"""Describing what a kernel returned, and copying its bytes into the arena, at the moment of return."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kagent_bench.evaluate.candidate.memory import Call


_frombuffer = torch.frombuffer
"""As it is before a kernel file is loaded."""


class TooLarge(Exception):
    """The outputs do not fit into the arena."""


def describe(value: object, call: Call, memory: mmap.mmap) -> dict[str, Any]:
    """Return the description of a returned object: ``value`` (nesting) and ``leaves`` (tensors).

    Raises:
        TooLarge: more bytes were returned than twice what is expected.
    """
    leaves: list[dict[str, Any]] = []
    writer = _Writer(call, memory)
    return {"value": _tree(value, leaves, writer), "leaves": leaves}


class _Writer:
    """Copies outputs one after the other into the arena's output area."""

    def __init__(self, call: Call, memory: mmap.mmap) -> None:
        self._call = call
        self._memory = memory
        self._position = call.output_at
        self._end = call.output_at + call.output_bytes

    def leaf(self, tensor: torch.Tensor) -> dict[str, Any]:
        plain = type(tensor) is torch.Tensor and not vars(tensor)
        description: dict[str, Any] = {
            "plain": plain,
            "type": type(tensor).__name__,
            "dtype": str(tensor.dtype).removeprefix("torch."),
            "shape": list(tensor.shape),
            "device": str(tensor.device),
            "layout": str(tensor.layout),
            "stride": [],
            "region": None,
            "offset": 0,
            "at": self._position,
            "bytes": 0,
            "conjugate": False,
            "negative": False,
        }
        if not plain or tensor.layout is not torch.strided or tensor.device.type == "meta":
            return description
        exact = torch.Tensor.detach(tensor)
        if self._region_of(exact) is None:
            exact = exact.resolve_conj().resolve_neg()
        description["conjugate"], description["negative"] = exact.is_conj(), exact.is_neg()
        description["stride"] = list(exact.stride())
        if not exact.numel():
            return description
        item = exact.element_size()
        index = self._region_of(exact)
        if index is not None:
            storage = self._call.storages[index]
            place = {"region": index, "offset": exact.storage_offset() - storage.base // item}
            return {**description, **place, "at": self._call.regions[index][0], "bytes": storage.n_bytes}
        return {**description, **self._copy(exact, item)}

    def _region_of(self, tensor: torch.Tensor) -> int | None:
        """Return the input that a tensor looks at, or None."""
        address = tensor.untyped_storage().data_ptr()
        for index, storage in enumerate(self._call.storages):
            inside = tensor.storage_offset() * tensor.element_size() >= storage.base
            if storage.n_bytes and storage.untyped.data_ptr() == address and inside:
                return index
        return None

    def _copy(self, tensor: torch.Tensor, item: int) -> dict[str, Any]:
        last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
        dense = tensor if last < 2 * tensor.numel() + 64 else tensor.contiguous()
        extent = 1 + sum((size - 1) * step for size, step in zip(dense.shape, dense.stride(), strict=True))
        n_bytes = extent * item
        if self._position + n_bytes > self._end:
            message = f"{n_bytes} bytes"
            raise TooLarge(message)
        flat = dense.as_strided((extent,), (1,)).view(torch.uint8)
        target = _frombuffer(self._memory, dtype=torch.uint8, offset=self._position, count=n_bytes)
        target.copy_(flat)
        place = {"at": self._position, "bytes": n_bytes, "offset": 0, "stride": list(dense.stride())}
        self._position += (n_bytes + 15) // 16 * 16
        return place


def _tree(value: object, leaves: list[dict[str, Any]], writer: _Writer) -> dict[str, Any]:
    if isinstance(value, torch.Tensor):
        leaves.append(writer.leaf(value))
        return {"tensor": len(leaves) - 1}
    if value is None:
        return {"none": True}
    if isinstance(value, (list, tuple)):
        return {"sequence": [_tree(item, leaves, writer) for item in value]}
    if isinstance(value, (bool, int, float)):
        # Python's own JSON carries NaN and infinities; both ends are ours.
        return {"number": value}
    return {"other": type(value).__name__}
