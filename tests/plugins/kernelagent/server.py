"""A local HTTP server that speaks the wire formats of OpenAI's chat completions and Anthropic's messages.

What it answers is a script: a function of the request. The official clients talk to it unpatched. It counts what it
served, so that a ledger can be compared with it.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

KEY = "sk-test-4b1d5e0f7c2a"
"""The key that the tests plant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    number: int
    """From 1, over all requests."""

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Role and text of each message, the system's first."""
        system = self.body.get("system")
        found = [("system", system)] if system else []
        return [*found, *((item["role"], item["content"]) for item in self.body["messages"])]

    @property
    def problem(self) -> str:
        """The first message of the user."""
        return next(text for role, text in self.texts if role == "user")

    @property
    def last(self) -> str:
        """The latest message."""
        return self.texts[-1][1]

    @property
    def turn(self) -> int:
        """From 1: which reply of the dialogue is asked for."""
        return 1 + sum(role == "assistant" for role, _ in self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """A reply."""

    text: str
    finish: str = "stop"
    """OpenAI's word; Anthropic's is derived."""
    after_s: float = 0.0
    pause_s: float = 0.0
    """Between the pieces of a stream."""
    hang_up_after: int | None = None
    """Pieces of a stream after which the connection is dropped; with 0, before anything is sent."""
    tokens: tuple[int, int] | None = (100, 50)
    """In and out; None to tell nothing."""
    cached: int = 0
    refusal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """An answer by status, or a body that is not in the format."""

    code: int
    body: bytes = b'{"error": {"message": "no", "type": "error", "code": "none"}}'
    headers: Mapping[str, str] = field(default_factory=dict)


Script: TypeAlias = Callable[[Asked], Say | Status]
PIECE = 2000
"""Characters in one piece of a stream."""
_ANTHROPIC_STOP = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}


class ModelServer:
    """The running server."""

    def __init__(self, script: Script, *, per_second: float = 0.0) -> None:
        """Bind a free port.

        Args:
            script: What is answered.
            per_second: Calls a second above which a call is refused with 429; 0 for no limit.
        """
        self.script = script
        self.asked: list[Asked] = []
        self.answered = 0
        """Replies that were sent whole."""
        self.tokens_in = 0
        self.tokens_out = 0
        self.refused = 0
        self._interval = 1 / per_second if per_second else 0.0
        self._credit_until = 0.0
        self._lock = threading.Lock()
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, *_: object) -> None:
                pass  # a client that hung up

        self._http = Threads(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    @contextlib.contextmanager
    def running(self) -> Iterator[ModelServer]:
        """Serve until the context ends."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            asked = Asked(
                path=handler.path,
                headers={name.lower(): value for name, value in handler.headers.items()},
                body=body,
                number=len(self.asked) + 1,
            )
            self.asked.append(asked)
        wait_s = self._over_the_rate()
        if wait_s:
            self.refused += 1
            _send(handler, 429, _error("slow down"), {"retry-after": f"{wait_s:.3f}"})
            return
        answer = self.script(asked)
        if isinstance(answer, Status):
            _send(handler, answer.code, answer.body, answer.headers)
            return
        time.sleep(answer.after_s)
        if answer.hang_up_after == 0:
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        openai = handler.path.endswith("/chat/completions")
        if body.get("stream"):
            whole = _stream(handler, answer, _openai_events if openai else _anthropic_events, asked)
        else:
            form = _openai_whole if openai else _anthropic_whole
            whole = _send(handler, 200, json.dumps(form(answer, asked)).encode(), _ids(asked))
        if whole:
            with self._lock:
                self.answered += 1
                self.tokens_in += answer.tokens[0] if answer.tokens else 0
                self.tokens_out += answer.tokens[1] if answer.tokens else 0

    def _over_the_rate(self) -> float:
        """Return the seconds until the next call is allowed, 0 where this one is."""
        if not self._interval:
            return 0.0
        with self._lock:
            now = time.monotonic()
            due = max(self._credit_until, now - 5 * self._interval)  # a small burst, as providers allow
            if due > now:
                return due - now
            self._credit_until = due + self._interval
            return 0.0


def _ids(asked: Asked) -> dict[str, str]:
    return {"x-request-id": f"req_{asked.number}", "request-id": f"req_{asked.number}"}


def _error(text: str) -> bytes:
    return json.dumps({"type": "error", "error": {"message": text, "type": "error"}}).encode()


def _send(
    handler: http.server.BaseHTTPRequestHandler, code: int, body: bytes, headers: Mapping[str, str]
) -> bool:
    handler.send_response(code)
    for name, value in {"Content-Type": "application/json", **headers}.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
    return True


def _stream(
    handler: http.server.BaseHTTPRequestHandler,
    answer: Say,
    events: Callable[[Say, Asked], Iterator[str]],
    asked: Asked,
) -> bool:
    handler.send_response(200)
    for name, value in {"Content-Type": "text/event-stream", **_ids(asked), "Connection": "close"}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.close_connection = True
    for number, event in enumerate(events(answer, asked)):
        if answer.hang_up_after is not None and number >= answer.hang_up_after:
            return False
        handler.wfile.write(event.encode())
        handler.wfile.flush()
        time.sleep(answer.pause_s)
    return True


def _pieces(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def _openai_usage(answer: Say) -> dict[str, Any] | None:
    if answer.tokens is None:
        return None
    sent, received = answer.tokens
    details = {"cached_tokens": answer.cached}
    return {
        "prompt_tokens": sent,
        "completion_tokens": received,
        "total_tokens": sent + received,
        "prompt_tokens_details": details,
    }


def _openai_whole(answer: Say, asked: Asked) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.refusal:
        message = {"role": "assistant", "content": None, "refusal": answer.text}
    choices = [
        {"index": index, "finish_reason": answer.finish, "message": message, "logprobs": None}
        for index in range(asked.body.get("n", 1))
    ]
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion",
        "created": 1,
        "model": f"{asked.body['model']}-2026-01-01",
        "choices": choices,
        "usage": _openai_usage(answer),
    }


def _openai_events(answer: Say, asked: Asked) -> Iterator[str]:
    head = {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": f"{asked.body['model']}-2026-01-01",
    }
    name = "refusal" if answer.refusal else "content"
    for piece in _pieces(answer.text):
        choice = {"index": 0, "delta": {"role": "assistant", name: piece}, "finish_reason": None}
        yield _data({**head, "choices": [choice]})
    yield _data({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": answer.finish}]})
    if answer.tokens is not None:
        yield _data({**head, "choices": [], "usage": _openai_usage(answer)})
    yield "data: [DONE]\n\n"


def _anthropic_message(answer: Say, asked: Asked, text: str, stop: str | None) -> dict[str, Any]:
    sent, received = answer.tokens or (0, 0)
    return {
        "id": f"msg_{asked.number}",
        "type": "message",
        "role": "assistant",
        "model": f"{asked.body['model']}-20260101",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": sent - answer.cached,
            "output_tokens": received,
            "cache_read_input_tokens": answer.cached,
            "cache_creation_input_tokens": 0,
        },
    }


def _anthropic_whole(answer: Say, asked: Asked) -> dict[str, Any]:
    return _anthropic_message(answer, asked, answer.text, _stop(answer))


def _anthropic_events(answer: Say, asked: Asked) -> Iterator[str]:
    yield _event({"type": "message_start", "message": _anthropic_message(answer, asked, "", None)})
    block = {"type": "text", "text": ""}
    yield _event({"type": "content_block_start", "index": 0, "content_block": block})
    for piece in _pieces(answer.text):
        delta = {"type": "text_delta", "text": piece}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _event({"type": "content_block_stop", "index": 0})
    received = answer.tokens[1] if answer.tokens else 0
    delta = {"stop_reason": _stop(answer), "stop_sequence": None}  # type: ignore[dict-item]
    yield _event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": received}})
    yield _event({"type": "message_stop"})


def _stop(answer: Say) -> str:
    return "refusal" if answer.refusal else _ANTHROPIC_STOP[answer.finish]


def _data(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _event(value: dict[str, Any]) -> str:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n"
