"""Memory that the oracle owns and the candidate maps: contents of timed calls, and room for their outputs.

On a CUDA device each buffer is an allocation of its own, made by the driver and handed on by its inter-process
handle: a handle maps a whole allocation, so nothing else may lie in it. Elsewhere it is a sealed memory file.
"""

from __future__ import annotations

import ctypes
import fcntl
import itertools
import mmap
import os
from typing import Any

import torch

LARGE_BYTES = 256 << 20
"""From here on buffers are as large as they are asked for."""
_HANDLE_BYTES = 64
"""Size of the driver's inter-process memory handle."""
_LAZY_PEER_ACCESS = 1
_NUMBERS = itertools.count(1)
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class CannotShare(Exception):
    """The driver refuses to share memory between processes here."""


class _Handle(ctypes.Structure):
    _fields_ = [("reserved", ctypes.c_char * _HANDLE_BYTES)]


class _Raw:
    """Device memory as torch takes it, by the CUDA array interface."""

    def __init__(self, address: int, n_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (n_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class SharedBuffer:
    """One buffer, seen from the process that made it or from one that opened it."""

    def __init__(self, flat: torch.Tensor, *, handle: str, descriptor: int | None, release: Any) -> None:
        """Take the flat bytes, how others open them, and what gives them back."""
        self.flat = flat
        """uint8, [n_bytes]."""
        self.handle = handle
        """The driver's handle in hexadecimal digits; empty where a descriptor is sent instead."""
        self.descriptor = descriptor
        self.number = next(_NUMBERS)
        """Tells this buffer from any other of its process, also from one that had the same address before."""
        self._release = release

    @property
    def n_bytes(self) -> int:
        """Size."""
        return self.flat.numel()

    def close(self) -> None:
        """Give the memory back; the tensors over it must not be used any more."""
        self.flat = torch.empty(0, dtype=torch.uint8)
        if self._release is not None:
            self._release()
            self._release = None


def allocate(n_bytes: int, device: torch.device) -> SharedBuffer:
    """Make a buffer.

    Raises:
        CannotShare: the driver refuses.
        MemoryError: there is not that much.
    """
    if device.type == "cpu":
        descriptor = os.memfd_create("kab-timing", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        os.ftruncate(descriptor, n_bytes)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALS)
        flat = _mapped(descriptor, n_bytes)
        return SharedBuffer(flat, handle="", descriptor=descriptor, release=lambda: os.close(descriptor))
    driver = _driver(device)
    address = ctypes.c_uint64()
    status = driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(n_bytes))
    if status:
        message = f"the device has no {n_bytes} bytes left (driver error {status})"
        raise MemoryError(message)
    handle = _Handle()
    status = driver.cuIpcGetMemHandle(ctypes.byref(handle), address)
    if status:
        driver.cuMemFree_v2(address)
        message = f"the driver does not hand out memory handles (error {status})"
        raise CannotShare(message)
    text = ctypes.string_at(ctypes.byref(handle), _HANDLE_BYTES).hex()
    flat = torch.as_tensor(_Raw(address.value, n_bytes), device=device)
    return SharedBuffer(flat, handle=text, descriptor=None, release=lambda: driver.cuMemFree_v2(address))


def open_shared(n_bytes: int, device: torch.device, *, handle: str, descriptor: int | None) -> SharedBuffer:
    """Map a buffer that another process made; a descriptor is taken over.

    Raises:
        CannotShare: the driver refuses.
    """
    if descriptor is not None:
        flat = _mapped(descriptor, n_bytes)
        os.close(descriptor)
        return SharedBuffer(flat, handle="", descriptor=None, release=None)
    driver = _driver(device)
    wire = _Handle()
    ctypes.memmove(ctypes.byref(wire), bytes.fromhex(handle), _HANDLE_BYTES)
    address = ctypes.c_uint64()
    status = driver.cuIpcOpenMemHandle_v2(ctypes.byref(address), wire, ctypes.c_uint(_LAZY_PEER_ACCESS))
    if status:
        message = f"the driver does not open a memory handle (error {status})"
        raise CannotShare(message)
    flat = torch.as_tensor(_Raw(address.value, n_bytes), device=device)
    return SharedBuffer(flat, handle="", descriptor=None, release=lambda: driver.cuIpcCloseMemHandle(address))


class BufferPool:
    """The oracle's buffers by role, kept from case to case as long as they are large enough."""

    def __init__(self, device: torch.device) -> None:
        """Start with none."""
        self._device = device
        self._buffers: dict[str, SharedBuffer] = {}

    @property
    def n_bytes(self) -> int:
        """Size of all of them."""
        return sum(buffer.n_bytes for buffer in self._buffers.values())

    def buffer(self, role: str, n_bytes: int) -> SharedBuffer:
        """Return a buffer of at least so many bytes.

        Raises:
            CannotShare, MemoryError: as ``allocate``.
        """
        known = self._buffers.get(role)
        if known is not None and known.n_bytes >= n_bytes:
            return known
        if known is not None:
            del self._buffers[role]
            known.close()
        # Powers of two up to a size where that would waste much.
        rounded = 1 << (n_bytes - 1).bit_length() if n_bytes < LARGE_BYTES else n_bytes
        made = allocate(rounded, self._device)
        self._buffers[role] = made
        return made

    def close(self) -> None:
        """Give all of them back."""
        for buffer in self._buffers.values():
            buffer.close()
        self._buffers.clear()


def _mapped(descriptor: int, n_bytes: int) -> torch.Tensor:
    return torch.frombuffer(mmap.mmap(descriptor, n_bytes), dtype=torch.uint8)


def _driver(device: torch.device) -> ctypes.CDLL:
    """Return the CUDA driver with the device's context current in this thread.

    Raises:
        CannotShare: there is no such driver (ROCm, XPU).
    """
    if device.type != "cuda" or torch.version.hip:
        message = f"memory of {device.type} devices is not shared between processes by this version"
        raise CannotShare(message)
    torch.cuda.set_device(device)
    torch.cuda.synchronize()
    return ctypes.CDLL("libcuda.so.1")
