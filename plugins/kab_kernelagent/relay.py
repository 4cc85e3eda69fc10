"""Stands between the public agent and the provider: keeps the key and the limits, and records every call.

The public agent calls the provider itself, from processes that run kernels uncontained. It is given the address of
this server instead, on the loopback interface, and a key that only this server takes. What it asks is asked of the
provider with the real key; what that answers goes back as it came.
"""

from __future__ import annotations

import hmac
import http.server
import itertools
import json
import secrets
import threading
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kab_kernelagent.budget import OutOfBudgetError
from kab_kernelagent.options import ANTHROPIC
from kab_kernelagent.outcome import CallFailedError
from kab_kernelagent.pace import NotWantedError
from kab_kernelagent.providers.choose import connect
from kab_kernelagent.providers.provider import USER, Message, ModelRequest
from kab_kernelagent.store import Place, request_digest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kab_kernelagent.account import Account
    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.outcome import Reply
    from kab_kernelagent.store import RunStore

_MAX_BODY_BYTES = 16 << 20
_OK, _BAD_REQUEST, _UNAUTHORISED, _FORBIDDEN, _TOO_LARGE, _BAD_GATEWAY = 200, 400, 401, 403, 413, 502
_SENT_BACK = ("content-type", "retry-after", "retry-after-ms", "x-request-id", "request-id", "x-should-retry")
_DIALOGUE = 1
"""The public agent's calls of an operator are stored as one dialogue: which worker called is not told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What goes back to the public agent."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Relay:
    """The running server. Safe for several threads."""

    def __init__(self, options: AgentOptions, store: RunStore, account: Account) -> None:
        """Bind a free port and serve."""
        self.key = secrets.token_hex(16)
        """What the public agent must show."""
        self._options = options
        self._store = store
        self._account = account
        self._provider = connect(account.where, stream=False)
        self._failures: dict[str, CallFailedError | OutOfBudgetError | None] = {}
        self._closed: set[str] = set()
        self._numbers: dict[str, itertools.count[int]] = {}
        self._stored: dict[str, dict[str, list[dict[str, Any]]]] = {}
        self._under_way = 0
        self._lock = threading.Condition()
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                relay._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 128

            def handle_error(self, *_: object) -> None:
                pass  # the public agent hung up

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    def open(self, folder: str) -> str:
        """Take calls for an operator; returns the address to make them to, as the provider's own would be."""
        with self._lock:
            self._closed.discard(folder)
            self._failures[folder] = None
            replies = self._store.replies(folder)
            self._numbers[folder] = itertools.count(1 + self._store.exchanges(folder))
            self._stored[folder] = defaultdict(list)
            for reply in replies:
                self._stored[folder][reply["request_sha256"]].append(reply)
        address = f"http://127.0.0.1:{self._server.server_address[1]}/{folder}"
        return address if self._account.where.provider == ANTHROPIC else f"{address}/v1"

    def shut(self, folder: str) -> None:
        """Take no more calls for an operator."""
        with self._lock:
            self._closed.add(folder)

    def failure(self, folder: str) -> CallFailedError | OutOfBudgetError | None:
        """Return how the latest call for an operator failed, None if it was answered or there was none."""
        return self._failures.get(folder)

    def close(self, wait_s: float) -> None:
        """Take no more calls, wait so many seconds for those under way, and stop serving."""
        with self._lock:
            self._closed.update(self._numbers)
            self._lock.wait_for(lambda: not self._under_way, wait_s)
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._provider.close()

    def _serve(self, handler: http.server.BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("content-length") or 0)
        if size > _MAX_BODY_BYTES:
            handler.close_connection = True
            sent = _refusal(_TOO_LARGE, "the request is too large")
        else:
            shown = handler.headers.get("x-api-key") or handler.headers.get("authorization") or ""
            sent = self._answer(handler.path, shown.removeprefix("Bearer "), handler.rfile.read(size))
        handler.send_response(sent.status)
        for name, value in sent.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(sent.body)))
        handler.end_headers()
        handler.wfile.write(sent.body)

    def _answer(self, path: str, key: str, body: bytes) -> _Sent:
        if not hmac.compare_digest(key.encode(), self.key.encode()):
            return _refusal(_UNAUTHORISED, "no key of this run")
        folder = path.lstrip("/").partition("/")[0]
        with self._lock:
            if folder not in self._numbers or folder in self._closed:
                return _refusal(_FORBIDDEN, "no operator that is worked on")
        try:
            asked = json.loads(body)
            request = self._request(asked)
            if asked.get("stream"):
                return _refusal(_BAD_REQUEST, "no streams are passed on")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return _refusal(_BAD_REQUEST, f"not a call in the provider's form: {error}")
        return self._made(folder, asked, request)

    def _made(self, folder: str, asked: Mapping[str, Any], request: ModelRequest) -> _Sent:
        with self._lock:
            stored = self._stored[folder].get(request_digest(request.to_json()))
            if stored:
                return _Sent(status=_OK, headers=_JSON, body=stored.pop(0)["text"].encode())
            number = next(self._numbers[folder])
            self._under_way += 1
        place = Place(folder=folder, dialogue=_DIALOGUE, number=number)
        self._store.write_request(place, request.to_json())
        try:
            reply = self._account.make(
                place, request, lambda: self._forwarded(asked), lambda: folder not in self._closed
            )
        except CallFailedError as error:
            self._failures[folder] = error
            return _as_it_came(error)
        except OutOfBudgetError as error:
            self._failures[folder] = error
            return _refusal(_FORBIDDEN, str(error))
        except NotWantedError:
            return _refusal(_FORBIDDEN, "the time is up")
        finally:
            with self._lock:
                self._under_way -= 1
                self._lock.notify_all()
        self._failures[folder] = None
        return _Sent(status=_OK, headers=_JSON, body=reply.text.encode())

    def _forwarded(self, asked: Mapping[str, Any]) -> Reply:
        """Make the call; the reply's text is the provider's whole answer."""
        answer = self._provider.forward(asked, self._options.call_timeout)
        return replace(answer.reply, text=answer.text)

    def _request(self, asked: Mapping[str, Any]) -> ModelRequest:
        messages = [
            Message(role=str(item["role"]), text=self._store.redacted(_text(item["content"])))
            for item in asked["messages"]
        ]
        if asked.get("system"):
            messages.insert(0, Message(role="system", text=self._store.redacted(_text(asked["system"]))))
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or self._options.reply_tokens
        temperature = asked.get("temperature")
        return ModelRequest(
            provider=self._account.where.provider,
            model=str(asked["model"]),
            messages=tuple(messages) or (Message(role=USER, text=""),),
            temperature=None if temperature is None else float(temperature),
            reasoning_effort=str(asked.get("reasoning_effort") or ""),
            reply_tokens=int(limit) * int(asked.get("n") or 1),
        )


_JSON = {"content-type": "application/json"}


def _refusal(status: int, words: str) -> _Sent:
    body = {"type": "error", "error": {"type": "relay", "code": "relay", "message": words}}
    return _Sent(status=status, headers=_JSON, body=json.dumps(body).encode())


def _as_it_came(error: CallFailedError) -> _Sent:
    """Return the provider's own words where it gave any, so that its client knows what to do about them."""
    answer: Any = getattr(error.__cause__, "response", None)
    if answer is None or answer.status_code < _BAD_REQUEST:
        return _refusal(_BAD_GATEWAY, error.detail)
    kept = {name: answer.headers[name] for name in _SENT_BACK if name in answer.headers}
    return _Sent(status=answer.status_code, headers=kept, body=answer.content)


def _text(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content)
