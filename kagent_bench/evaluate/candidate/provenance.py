"""Where the bytes of tensors come from: memory that changed while nobody looked was computed out of sight.

Calls of the library and launches are seen as they are made. What computes otherwise (C behind a raw pointer, a forked
process, a call below the dispatcher) leaves no call, but it leaves its bytes: between two things that were seen, no
tensor's memory may change, and none may turn up that was not seen to be allocated. Only memory of the host is read.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HELD_BYTES = 256 << 20
"""Memory that is watched at a time; a process that uses more is not watched."""
SMALLEST_NUMBER_BYTES = 4
"""Bytes of a number; of shorter ones there may be more."""
MANY_NUMBERS = 64
"""Numbers that may differ from call to call, as addresses and seeds do; more of them are results."""
_array: Any = np.asarray
_checksum = zlib.crc32
_storages: Any = torch.UntypedStorage
_weak_reference = _storages._weak_ref  # noqa: SLF001 - torch's own shared storages hang on it
_from_weak = _storages._new_with_weak_ptr  # noqa: SLF001 - as above
_free_weak = _storages._free_weak_ref  # noqa: SLF001 - as above


_PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Types of tensors without behaviour of their own."""


class _Bytes:
    """Memory as NumPy takes it."""

    def __init__(self, address: int, n_bytes: int) -> None:
        self.__array_interface__ = {
            "shape": (n_bytes,), "typestr": "|u1", "data": (address, True), "version": 3,
        }  # fmt: skip


class Provenance:
    """The storages that were seen, with what they held when they were last seen. Keeps none alive."""

    def __init__(self) -> None:
        """Start with none."""
        self._seen: dict[int, tuple[int, int]] = {}
        """Weak pointer and checksum by the storage's identity."""
        self._inputs: list[int] = []
        """Identities of those that somebody else writes between calls."""
        self._watching = True
        self._given: set[object] = set()
        """What Python gave in calls on these inputs: checksums of many numbers, single ones as they are written."""
        self._first = True
        """Whether there was no call on these inputs before."""
        self._other_numbers = 0
        """Elements of numbers that were not given in the calls before."""

    def begin(self, inputs: Sequence[torch.UntypedStorage]) -> None:
        """Take a call's inputs as seen, and forget those of the call before."""
        self._first = not inputs or self._inputs != [storage._cdata for storage in inputs]  # noqa: SLF001 - as below
        self._other_numbers = 0
        if self._first:
            self._given.clear()
        for identity in self._inputs:
            self._forget(identity)
        self._inputs = [storage._cdata for storage in inputs]  # noqa: SLF001 - the identity of a storage
        self.settle(inputs)

    def settle(self, storages: Iterable[torch.UntypedStorage]) -> None:
        """Take what storages hold as seen."""
        for storage in storages:
            if storage.device.type != "cpu":
                continue
            identity = storage._cdata  # noqa: SLF001 - as above
            known = self._seen.get(identity)
            weak = _weak_reference(storage) if known is None else known[0]
            self._seen[identity] = (weak, self._checksum(storage))

    def given(self, storages: Iterable[torch.UntypedStorage] = (), numbers: Iterable[float] = ()) -> bool:
        """Note numbers, and tensors that Python's were made into; return whether they follow from the inputs' values.

        Tables follow from shapes: they are the same, or kept, when a call comes again with other values.
        """
        found: list[tuple[object, int]] = [(repr(number), 1) for number in numbers]
        found += [(self._checksum(item), item.nbytes() // SMALLEST_NUMBER_BYTES) for item in storages]
        for content, n_numbers in found:
            if not self._first and content not in self._given:
                self._other_numbers += n_numbers
            self._given.add(content)
        return self._other_numbers > MANY_NUMBERS

    def settle_all(self) -> None:
        """Take everything as seen, as after a launch, which may write anywhere."""
        self.settle(self._alive())

    def changed(self, storages: Iterable[torch.UntypedStorage] | None = None) -> bool:
        """Return whether memory that was seen holds something else now.

        Args:
            storages: where to look; everywhere without them.
        """
        looked_at = self._alive() if storages is None else storages
        if not self._watching:
            return False
        return any(
            known[1] != self._checksum(storage)
            for storage in looked_at
            if (known := self._seen.get(storage._cdata)) is not None  # noqa: SLF001 - as above
        )

    def unknown(self, storages: Iterable[torch.UntypedStorage]) -> bool:
        """Return whether some memory was never seen."""
        return any(
            storage.nbytes() > 0 and storage.device.type == "cpu" and storage._cdata not in self._seen  # noqa: SLF001
            for storage in storages
        )

    def _alive(self) -> list[torch.UntypedStorage]:
        alive, total = [], 0
        for identity, (weak, _) in tuple(self._seen.items()):
            storage = _from_weak(weak)
            if storage is None:
                self._forget(identity)
                continue
            alive.append(storage)
            total += storage.nbytes()
        self._watching = total <= HELD_BYTES
        return alive

    def _forget(self, identity: int) -> None:
        known = self._seen.pop(identity, None)
        if known is not None:
            _free_weak(known[0])

    def _checksum(self, storage: torch.UntypedStorage) -> int:
        n_bytes = storage.nbytes()
        if not n_bytes or not self._watching:
            return 0
        return _checksum(_array(_Bytes(storage.data_ptr(), n_bytes)))


def numbers_of(values: Iterable[Any]) -> Iterator[float]:
    """Yield the numbers among some values, and in lists of them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from numbers_of(value)
        elif isinstance(value, int | float):
            yield value


def storages_of(values: Iterable[Any]) -> list[torch.UntypedStorage]:
    """Return the storages of the tensors among some values, and in lists of them."""
    found = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += storages_of(value)
        elif type(value) in _PLAIN and value.layout is torch.strided and value.device.type != "meta":
            found.append(value.untyped_storage())
    return found
