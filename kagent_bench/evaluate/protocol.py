"""Framed messages between supervisor, oracle, fork server and candidate: JSON with descriptors beside it.

A message is four bytes of length and that much JSON; descriptors travel with the length. Nothing is ever
unpickled, every size is bounded, and every wait ends at a deadline of ``time.monotonic()``.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import time
from typing import Any

_LENGTH = struct.Struct("<I")
_ENCODER = json.JSONEncoder(separators=(",", ":"))
MAX_MESSAGE_BYTES = 16 << 20
"""Bound of one message, far above any header that is sent."""
SHORTEST_WAIT_S = 0.001
"""A timeout of zero would mean not to wait at all, also where there is room."""
_CHUNK_BYTES = 1 << 18
MAX_DESCRIPTORS = 8
"""Bound of descriptors in one message."""


class ProtocolError(Exception):
    """The other side sent something that is not a message."""


class Closed(Exception):
    """The other side closed its end."""


class DeadlineExceeded(Exception):
    """Nothing came in time."""


class Channel:
    """One end of a stream socket that carries messages."""

    def __init__(self, sock: socket.socket) -> None:
        """Take over a connected stream socket."""
        self._sock = sock

    @classmethod
    def from_descriptor(cls, descriptor: int) -> Channel:
        """Take over an inherited socket descriptor."""
        return cls(socket.socket(fileno=descriptor))

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Return two connected ends."""
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(left), cls(right)

    def fileno(self) -> int:
        """Return the descriptor, for ``select`` and for handing on."""
        return self._sock.fileno()

    def close(self) -> None:
        """Close this end."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def send(
        self, message: dict[str, Any], descriptors: tuple[int, ...] = (), *, deadline: float | None = None
    ) -> None:
        """Send one message.

        Raises:
            Closed: the other side is gone.
            DeadlineExceeded: it does not read, and its buffer is full.
        """
        data = _ENCODER.encode(message).encode()
        whole = memoryview(_LENGTH.pack(len(data)) + data)
        try:
            self._wait_until(deadline)
            if descriptors:
                whole = whole[socket.send_fds(self._sock, [whole], list(descriptors)) :]
            self._sock.sendall(whole)
        except OSError as error:
            raise _ours(error) from error

    def receive(self, deadline: float | None = None) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Return the next message and its descriptors, which the caller owns.

        Raises:
            Closed: the other side is gone.
            DeadlineExceeded: the message is not complete at the deadline.
            ProtocolError: what came is not a message.
        """
        descriptors: list[int] = []
        try:
            length = self._read_header(deadline, descriptors)
            if length > MAX_MESSAGE_BYTES:
                message = f"message of {length} bytes"
                raise ProtocolError(message)
            data = self._read_body(length, deadline)
            try:
                decoded = json.loads(str(data, "utf-8"))
            except (ValueError, RecursionError) as error:
                raise ProtocolError(str(error)) from error
            if not isinstance(decoded, dict):
                message = "a message is a JSON object"
                raise ProtocolError(message)
        except BaseException as error:
            for descriptor in descriptors:
                os.close(descriptor)
            if isinstance(error, OSError):
                raise _ours(error) from error
            raise
        return decoded, tuple(descriptors)

    def _read_header(self, deadline: float | None, descriptors: list[int]) -> int:
        """Return the length of the message that follows; what descriptors it has travel with its first byte."""
        data = b""
        while len(data) < _LENGTH.size:
            self._wait_until(deadline)
            chunk, received, _, _ = socket.recv_fds(self._sock, _LENGTH.size - len(data), MAX_DESCRIPTORS)
            descriptors.extend(received)
            if len(descriptors) > MAX_DESCRIPTORS:
                message = f"more than {MAX_DESCRIPTORS} descriptors"
                raise ProtocolError(message)
            data += _some(chunk)
        (length,) = _LENGTH.unpack(data)
        return int(length)

    def _read_body(self, length: int, deadline: float | None) -> bytes:
        """Return so many bytes; the system closes descriptors that come with them."""
        chunks: list[bytes] = []
        while length:
            self._wait_until(deadline)
            chunk = self._sock.recv(min(length, _CHUNK_BYTES))
            chunks.append(_some(chunk))
            length -= len(chunk)
        return b"".join(chunks)

    def _wait_until(self, deadline: float | None) -> None:
        """Have the next call of the socket wait for the other side until the deadline.

        The socket then waits by itself, also where someone else took what there was to read.
        """
        left = None if deadline is None else max(deadline - time.monotonic(), SHORTEST_WAIT_S)
        self._sock.settimeout(left)


def _ours(error: OSError) -> DeadlineExceeded | Closed:
    """Return this module's own exception for one of a socket."""
    return DeadlineExceeded() if isinstance(error, TimeoutError) else Closed(str(error))


def _some(chunk: bytes) -> bytes:
    """Return what was read, unless it is the end of the stream."""
    if not chunk:
        message = "end of stream"
        raise Closed(message)
    return chunk
