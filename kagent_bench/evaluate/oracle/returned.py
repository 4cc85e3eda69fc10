"""What a candidate says it returned and did, read with suspicion: numbers are checked before memory is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import ITEM_BYTES

if TYPE_CHECKING:
    from kagent_bench.evaluate.arena import Arena, Layout


MAX_DIMENSIONS = 64
"""torch's own bound."""
MAX_NESTING = 8
"""No operator returns lists nested deeper than two."""


class Unreadable(Exception):
    """The description of the outputs contradicts itself or the arena."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One returned tensor as described by the candidate's process."""

    plain: bool
    """Exactly ``torch.Tensor``, without instance attributes."""
    type_name: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: str
    layout: str
    region: int | None
    """Input storage that it looks at, None for a fresh one."""
    offset: int
    """Elements from the region's start, or from the start of its copied bytes."""
    at: int
    """Arena position of the copied bytes of a fresh output; the region's for an aliasing one."""
    n_bytes: int
    """Bytes from ``at``."""
    conjugate: bool = False
    """Whether the elements are the conjugates of the bytes, as a view may say."""
    negative: bool = False
    """Whether the elements are the negatives of the bytes."""


def read_leaf(data: dict[str, Any], layout: Layout) -> Leaf:
    """Read a leaf's description.

    Raises:
        Unreadable: it does not describe memory inside the arena.
    """
    try:
        region = data["region"]
        leaf = Leaf(
            plain=bool(data["plain"]),
            type_name=str(data["type"])[:200],
            dtype=str(data["dtype"]),
            shape=_sizes(data["shape"]),
            stride=_sizes(data["stride"]),
            device=str(data["device"])[:40],
            layout=str(data["layout"])[:40],
            region=None if region is None else _size(region),
            offset=_size(data["offset"]),
            at=_size(data["at"]),
            n_bytes=_size(data["bytes"]),
            conjugate=bool(data.get("conjugate")),
            negative=bool(data.get("negative")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(repr(error)) from error
    if leaf.region is not None:
        if leaf.region >= len(layout.regions):
            raise Unreadable("region")
        place = layout.regions[leaf.region]
        inside = leaf.at == place.offset and leaf.n_bytes == place.n_bytes
    else:
        inside = layout.input_bytes <= leaf.at and leaf.at + leaf.n_bytes <= layout.n_bytes
    if not inside:
        raise Unreadable("place")
    return leaf


def read_tensor(leaf: Leaf, arena: Arena, device: torch.device | str = "cpu") -> torch.Tensor:
    """Return a private copy of an output's elements, with its strides, on a device.

    Raises:
        Unreadable: dtype, shape, strides and bytes contradict each other.
    """
    if leaf.dtype not in ITEM_BYTES:
        raise Unreadable("dtype")
    dtype: torch.dtype = getattr(torch, leaf.dtype)
    if len(leaf.shape) != len(leaf.stride):
        raise Unreadable("dimensions")
    if 0 in leaf.shape:
        return torch.empty(leaf.shape, dtype=dtype, device=device)
    last = leaf.offset + sum((size - 1) * step for size, step in zip(leaf.shape, leaf.stride, strict=True))
    item = ITEM_BYTES[leaf.dtype]
    if (last + 1) * item > leaf.n_bytes:
        raise Unreadable("extent")
    n_bytes = leaf.n_bytes // item * item
    shared = torch.frombuffer(arena.memory, dtype=torch.uint8, offset=leaf.at, count=n_bytes)
    data = shared.to(device, copy=True)
    values = data.view(dtype).as_strided(leaf.shape, leaf.stride, leaf.offset)
    if leaf.conjugate and dtype.is_complex:
        values = values.conj_physical()
    return -values if leaf.negative else values


def structure(tree: object, nesting: int = 0) -> Any:
    """Return the nesting of a described value: ``"tensor"``, ``"none"``, ``("number", x)``, or a list of these.

    Raises:
        Unreadable: it is not a description.
    """
    if not isinstance(tree, dict) or len(tree) != 1 or nesting > MAX_NESTING:
        raise Unreadable("value")
    ((kind, content),) = tree.items()
    if kind == "sequence" and isinstance(content, list):
        return [structure(item, nesting + 1) for item in content]
    if kind == "tensor":
        return "tensor"
    if kind == "none":
        return "none"
    if kind == "number":
        return ("number", content)
    return ("other", str(content)[:200])


def _size(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 48:
        raise ValueError(value)
    return value


def _sizes(values: object) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) > MAX_DIMENSIONS:
        raise ValueError(values)
    return tuple(_size(value) for value in values)


def counts(reply: dict[str, Any]) -> dict[str, int]:
    """Return how often the candidate says it made each library call in this round."""
    said = reply.get("counts")
    if not isinstance(said, dict):
        return {}
    return {name: count for name, count in said.items() if isinstance(count, int)}


def recorded(reply: dict[str, Any]) -> list[str]:
    """Return the operators that torch itself recorded in the candidate's process, if it was asked to."""
    names = reply.get("recorded")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
