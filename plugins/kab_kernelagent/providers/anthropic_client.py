"""Calls of Anthropic's messages, by the official client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_kernelagent.outcome import CallFailedError, CallOutcome, Finish, Reply
from kab_kernelagent.providers.failures import failure
from kab_kernelagent.providers.provider import MAX_REPLY_CHARS, SYSTEM, Forwarded, count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kab_kernelagent.providers.provider import ModelRequest

_FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSED,
}
_REQUEST_ID = "request-id"


class AnthropicProvider:
    """One client for all threads."""

    name = "anthropic"

    def __init__(self, *, base_url: str | None, key: str, stream: bool) -> None:
        """Make the client; nothing is sent.

        Args:
            base_url: The server; None for Anthropic's own.
            key: Sent as ``x-api-key``.
            stream: Have replies sent piece by piece.
        """
        from anthropic import Anthropic

        self._client = Anthropic(api_key=key, base_url=base_url, max_retries=0)
        self._stream = stream

    def call(self, request: ModelRequest, timeout_s: float, given_up: Callable[[], bool]) -> Reply:
        """Make one call, see ``Provider``."""
        parameters: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.reply_tokens,
            "messages": [
                {"role": item.role, "content": item.text} for item in request.messages if item.role != SYSTEM
            ],
            "system": "\n\n".join(item.text for item in request.messages if item.role == SYSTEM),
            "timeout": timeout_s,
        }
        extra: dict[str, Any] = {}
        if request.temperature is not None:
            extra["temperature"] = request.temperature
        if request.reasoning_effort:
            extra["output_config"] = {"effort": request.reasoning_effort}
        if extra:
            # Not every version of the client has these as parameters of their own.
            parameters["extra_body"] = extra
        try:
            if self._stream:
                return self._streamed(parameters, given_up)
            return self._whole(parameters)
        except CallFailedError:
            raise
        except Exception as error:
            raise failure(error) from error

    def forward(self, body: Mapping[str, Any], timeout_s: float) -> Forwarded:
        """Make another client's call, see ``Provider``."""
        needed = ("model", "messages", "max_tokens")
        rest = {name: value for name, value in body.items() if name not in needed}
        try:
            answer = self._client.messages.with_raw_response.create(
                **{name: body[name] for name in needed}, extra_body=rest, timeout=timeout_s
            )
            reply = _read(answer)
        except Exception as error:
            raise failure(error) from error
        return Forwarded(text=answer.text, reply=reply)

    def close(self) -> None:
        """Close the connections; no call may be under way."""
        self._client.close()

    def _whole(self, parameters: Mapping[str, Any]) -> Reply:
        return _read(self._client.messages.with_raw_response.create(**parameters))

    def _streamed(self, parameters: Mapping[str, Any], given_up: Callable[[], bool]) -> Reply:
        answer = self._client.messages.with_raw_response.create(**parameters, stream=True)
        pieces: list[str] = []
        size, ended, finish, model = 0, False, Finish.UNKNOWN, ""
        tokens: dict[str, int] = {}
        request_id = answer.headers.get(_REQUEST_ID) or ""
        with answer.parse() as stream:
            for event in stream:
                if event.type == "message_start":
                    model, request_id = event.message.model, request_id or event.message.id
                    tokens |= _tokens(event.message.usage)
                elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                    pieces.append(event.delta.text)
                    size += len(event.delta.text)
                elif event.type == "message_delta":
                    finish = _FINISH.get(event.delta.stop_reason or "", Finish.UNKNOWN)
                    tokens |= _tokens(event.usage)
                elif event.type == "message_stop":
                    ended = True
                if given_up() or size > MAX_REPLY_CHARS:
                    ended, finish = True, Finish.LENGTH
                    break
        if not ended:
            raise CallFailedError(CallOutcome.BROKEN, "the stream ended before the reply did")
        return _reply("".join(pieces), finish, model, request_id, tokens)


def _read(answer: Any) -> Reply:
    message = answer.parse()
    text = "".join(block.text for block in message.content if block.type == "text")
    finish = _FINISH.get(message.stop_reason or "", Finish.UNKNOWN)
    request_id = answer.headers.get(_REQUEST_ID) or message.id or ""
    return _reply(text, finish, message.model, request_id, _tokens(message.usage))


def _tokens(usage: Any) -> dict[str, int]:
    """Return the counts that a usage tells; a stream tells them in two parts."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    found = {name: getattr(usage, name, None) for name in names}
    told = {name: count(value) for name, value in found.items()}
    return {name: value for name, value in told.items() if value is not None}


def _reply(text: str, finish: Finish, model: str, request_id: str, tokens: Mapping[str, int]) -> Reply:
    cached = tokens.get("cache_read_input_tokens", 0)
    written = tokens.get("cache_creation_input_tokens", 0)
    new = tokens.get("input_tokens")
    return Reply(
        text=text[:MAX_REPLY_CHARS],
        finish=Finish.LENGTH if len(text) > MAX_REPLY_CHARS else finish,
        model=model,
        request_id=request_id,
        tokens_in=None if new is None else new + cached + written,
        tokens_out=tokens.get("output_tokens"),
        tokens_cached=cached,
    )
