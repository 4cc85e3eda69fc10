"""Messages: whole, bounded, and in time."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.protocol import (
    MAX_MESSAGE_BYTES,
    Channel,
    Closed,
    DeadlineExceeded,
    ProtocolError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.dictionaries(st.text(max_size=5), JSON_LIKE, max_size=4)


def _connected() -> tuple[socket.socket, Channel]:
    """Return a bare socket, to send anything, and the channel that receives it."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    return left, Channel(right)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    """Return two connected channels."""
    left, right = Channel.pair()
    yield left, right
    left.close()
    right.close()


@given(messages=st.lists(MESSAGES, max_size=3))
def test_messages_arrive_in_order_and_unchanged(messages: list[dict[str, Any]]) -> None:
    """What is sent is what is received."""
    left, right = Channel.pair()
    for message in messages:
        left.send(message)
    assert messages == [right.receive(time.monotonic() + 5)[0] for _ in messages]
    left.close()
    right.close()


def test_a_message_larger_than_the_socket_buffer_arrives(ends: tuple[Channel, Channel]) -> None:
    """A message travels in as many pieces as it needs."""
    left, right = ends
    message = {"text": "x" * 3_000_000}
    sender = threading.Thread(target=left.send, args=(message,))
    sender.start()
    assert message == right.receive(time.monotonic() + 20)[0]
    sender.join()


@given(data=st.binary(max_size=80))
def test_garbage_is_a_protocol_error_or_an_end(data: bytes) -> None:
    """Whatever bytes come, only this module's own exceptions leave it."""
    sock, channel = _connected()
    sock.sendall(data)
    sock.close()
    with pytest.raises((ProtocolError, Closed)):
        channel.receive(time.monotonic() + 5)
    channel.close()


_NO_MESSAGES = {
    "a list": b"[]",
    "a number": b"1",
    "text": b"hello",
    "not UTF-8": b'{"a":"\xff"}',
    "cut off": b'{"a":',
    "a number too long to convert": b'{"a":' + b"9" * 5000 + b"}",
    "nested without end": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("data", _NO_MESSAGES.values(), ids=_NO_MESSAGES)
def test_what_is_no_message_is_a_protocol_error(data: bytes) -> None:
    """A frame with anything but a JSON object is refused."""
    sock, channel = _connected()
    sender = threading.Thread(target=sock.sendall, args=(struct.pack("<I", len(data)) + data,))
    sender.start()
    with pytest.raises(ProtocolError):
        channel.receive(time.monotonic() + 5)
    sender.join()
    sock.close()
    channel.close()


def test_an_announced_length_beyond_the_bound_is_refused_at_once() -> None:
    """Nobody makes the other side reserve memory, or wait, for what will never come."""
    sock, channel = _connected()
    sock.sendall(struct.pack("<I", MAX_MESSAGE_BYTES + 1))
    with pytest.raises(ProtocolError, match=str(MAX_MESSAGE_BYTES + 1)):
        channel.receive(time.monotonic() + 5)
    sock.close()
    channel.close()


@pytest.mark.parametrize("sent", [b"", b"\x05", b"\x05\x00\x00\x00", b'\x05\x00\x00\x00{"a"'])
def test_half_a_message_does_not_hold_up_beyond_the_deadline(sent: bytes) -> None:
    """A message that stops anywhere is waited for until the deadline, not longer."""
    sock, channel = _connected()
    sock.sendall(sent)
    started = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        channel.receive(started + 0.1)
    assert 0.09 < time.monotonic() - started < 2
    sock.close()
    channel.close()


def test_a_message_in_drips_does_not_move_the_deadline() -> None:
    """The deadline is that of the whole message, not of each piece."""
    sock, channel = _connected()
    stop = threading.Event()

    def drip() -> None:
        sock.sendall(struct.pack("<I", 1000))
        while not stop.wait(0.02):
            sock.sendall(b" ")

    sender = threading.Thread(target=drip)
    sender.start()
    with pytest.raises(DeadlineExceeded):
        channel.receive(time.monotonic() + 0.2)
    stop.set()
    sender.join()
    sock.close()
    channel.close()


def test_a_closed_end_is_told_on_both_sides(ends: tuple[Channel, Channel]) -> None:
    """Neither sending nor receiving waits for somebody who is gone."""
    left, right = ends
    left.close()
    with pytest.raises(Closed):
        right.receive()
    with pytest.raises(Closed):
        right.send({"a": 1})


def test_descriptors_travel_with_their_message(ends: tuple[Channel, Channel]) -> None:
    """The receiver owns open copies of what was sent, with the message they came with."""
    left, right = ends
    reader, writer = os.pipe()
    left.send({"n": 1}, (writer,))
    left.send({"n": 2})
    os.close(writer)
    first, received = right.receive(time.monotonic() + 5)
    second, nothing = right.receive(time.monotonic() + 5)
    assert ({"n": 1}, {"n": 2}, ()) == (first, second, nothing)
    os.write(received[0], b"x")
    os.close(received[0])
    assert b"x" == os.read(reader, 8)
    os.close(reader)


def test_descriptors_of_a_refused_message_are_closed() -> None:
    """Garbage cannot use up this process's descriptors."""
    sock, channel = _connected()
    reader, writer = os.pipe()
    socket.send_fds(sock, [struct.pack("<I", 2) + b"[]"], [writer])
    os.close(writer)
    with pytest.raises(ProtocolError):
        channel.receive(time.monotonic() + 5)
    assert b"" == os.read(reader, 1)  # end of file: no copy is open
    os.close(reader)
    sock.close()
    channel.close()


def test_descriptors_in_drips_are_bounded() -> None:
    """A message cannot bring more descriptors by coming in many pieces."""
    sock, channel = _connected()
    reader, writer = os.pipe()
    for piece in (b"\x02", b"\x00", b"\x00", b"\x00", b"{"):
        socket.send_fds(sock, [piece], [writer] * 4)
    sock.sendall(b"}")
    os.close(writer)
    with pytest.raises(ProtocolError, match="descriptors"):
        channel.receive(time.monotonic() + 5)
    sock.close()
    channel.close()
    assert b"" == os.read(reader, 1)  # end of file: no copy is open
    os.close(reader)


def test_numbers_that_json_lacks_arrive(ends: tuple[Channel, Channel]) -> None:
    """A kernel may return NaN as a number; both ends speak Python's JSON."""
    left, right = ends
    left.send({"value": float("inf")})
    assert json.dumps({"value": float("inf")}) == json.dumps(right.receive(time.monotonic() + 5)[0])


def test_an_end_that_was_closed_here_is_closed() -> None:
    """Whoever asks a helper that was stopped is told so, not of a wrong descriptor."""
    mine, theirs = Channel.pair()
    theirs.close()
    mine.close()
    with pytest.raises(Closed):
        mine.receive(time.monotonic() + 1)
    with pytest.raises(Closed):
        mine.send({"do": "fork"})
