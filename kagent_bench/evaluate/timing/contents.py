"""Fresh contents for timed calls, drawn on the device from the run's secret: no two calls see the same values.

The draw can be repeated, so that what a call should have returned is worked out from the secret and not from
memory that the candidate could have written to.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

import torch

from kagent_bench.model.case import IntegerValues, LiteralValues, UniformValues

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.case import Case

ALIGNMENT_BYTES = 256


class Contents:
    """Draws the storages of a case on a device."""

    def __init__(self, case: Case, seed: bytes, device: torch.device, *, may_shuffle: bool) -> None:
        """Take a case.

        Args:
            case: the call.
            seed: the run's secret.
            device: where the values are drawn.
            may_shuffle: whether literal elements may change places (elementwise operators).
        """
        self._case = case
        self._seed = seed
        self._device = device
        self._may_shuffle = may_shuffle
        self._source = torch.Generator(device)
        self._literals: dict[int, torch.Tensor] = {}
        self.offsets, self.slot_bytes = _lay_out([storage.n_bytes for storage in case.storages])
        """Bytes from a slot's start to each storage, and bytes of a slot."""

    @property
    def fresh(self) -> bool:
        """Whether at least one storage differs from call to call."""
        return any(
            storage.numel > 1 and (self._may_shuffle or not isinstance(storage.rule, LiteralValues))
            for storage in self._case.storages
        )

    def views(self, flat: torch.Tensor, slot: int) -> list[torch.Tensor]:
        """Return one flat uint8 tensor per storage of a slot in a buffer."""
        start = slot * self.slot_bytes
        return [
            flat[start + offset : start + offset + storage.n_bytes]
            for offset, storage in zip(self.offsets, self._case.storages, strict=True)
        ]

    def draw(self, flat: torch.Tensor, slots: int, turn: int) -> None:
        """Write the contents of a turn's calls into a buffer of ``slots * slot_bytes`` bytes."""
        mac = hmac.new(self._seed, f"timed:{self._case.id}:{turn}".encode(), hashlib.sha256).digest()
        source = self._source.manual_seed(int.from_bytes(mac[:8], "little") >> 1)
        rows = flat[: slots * self.slot_bytes].view(slots, self.slot_bytes)
        for index, (offset, storage) in enumerate(zip(self.offsets, self._case.storages, strict=True)):
            if storage.numel:
                columns = rows[:, offset : offset + storage.n_bytes]
                self._fill(index, columns.view(getattr(torch, storage.dtype)), source)

    def _fill(self, index: int, target: torch.Tensor, source: torch.Generator) -> None:
        """Fill one storage in all slots; ``target`` is [slots, numel], a row's elements side by side."""
        rule = self._case.storages[index].rule
        if isinstance(rule, LiteralValues):
            literal = self._literal(index, rule, target.dtype)
            for row in target:
                if self._may_shuffle and not target.is_floating_point():
                    order = torch.randperm(literal.numel(), generator=source, device=self._device)
                    row.copy_(literal[order])
                else:
                    row.copy_(literal)
        elif isinstance(rule, IntegerValues):
            values = torch.randint(
                rule.low,
                rule.high + 1,
                target.shape,
                generator=source,
                device=self._device,
                dtype=torch.int64,
            )
            target.copy_(values)
        else:
            _uniform(torch.view_as_real(target) if target.is_complex() else target, rule, source)

    def _literal(self, index: int, rule: LiteralValues, dtype: torch.dtype) -> torch.Tensor:
        if index not in self._literals:
            raw = torch.frombuffer(bytearray(rule.data), dtype=torch.uint8).view(dtype)
            self._literals[index] = raw.to(self._device)
        return self._literals[index]


def _uniform(target: torch.Tensor, rule: UniformValues, source: torch.Generator) -> None:
    if target.element_size() == 1:  # 8-bit floats have no generator of their own
        wide = torch.empty(target.shape, device=target.device)
        target.copy_(wide.uniform_(rule.low, rule.high, generator=source))
    elif rule.low < rule.high:
        target.uniform_(rule.low, rule.high, generator=source)
    else:
        target.fill_(rule.low)


def _lay_out(sizes: Sequence[int]) -> tuple[tuple[int, ...], int]:
    offsets = []
    position = 0
    for size in sizes:
        offsets.append(position)
        position += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return tuple(offsets), max(position, ALIGNMENT_BYTES)


def lay_out_outputs(leaves: Sequence[torch.Tensor]) -> tuple[tuple[int, ...], int]:
    """Return bytes from a slot's start to each output, and bytes of a slot."""
    return _lay_out([leaf.numel() * leaf.element_size() for leaf in leaves])
