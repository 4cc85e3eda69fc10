"""Guard bands behind the memory that a kernel allocates for itself, so that a store past its end shows."""

from __future__ import annotations

import torch

GUARD_BYTES = 1024
"""Bytes behind each allocation: one block of 256 single precision numbers."""
HELD_BYTES = 256 << 20
"""Allocations of one call that are held until it returns; later ones are not guarded."""
_PATTERN = 0x5C


class Guards:
    """The guarded allocations of one call."""

    def __init__(self) -> None:
        """Start with none."""
        self._held: list[tuple[torch.UntypedStorage, int]] = []
        self._held_bytes = 0

    def clear(self) -> None:
        """Forget the allocations of the call before."""
        self._held.clear()
        self._held_bytes = 0

    def add(self, tensor: torch.Tensor) -> None:
        """Put a guard band behind fresh memory; its elements and its address within the storage stay."""
        storage = tensor.untyped_storage()
        n_bytes = storage.nbytes()
        if self._held_bytes + n_bytes > HELD_BYTES:
            return
        storage.resize_(n_bytes + GUARD_BYTES)
        _band(storage, n_bytes).fill_(_PATTERN)
        self._held.append((storage, n_bytes))
        self._held_bytes += n_bytes + GUARD_BYTES

    def overrun(self) -> bool:
        """Return whether a band was written to."""
        return any(
            not bool((_band(storage, n_bytes) == _PATTERN).all())
            for storage, n_bytes in self._held
            if storage.nbytes() == n_bytes + GUARD_BYTES
        )


def _band(storage: torch.UntypedStorage, n_bytes: int) -> torch.Tensor:
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(
        storage, n_bytes, (GUARD_BYTES,), (1,)
    )
