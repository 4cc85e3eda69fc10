"""Calls of OpenAI's chat completions, by the official client, to OpenAI or any server that speaks its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_kernelagent.outcome import CallFailedError, CallOutcome, Finish, Reply
from kab_kernelagent.providers.failures import failure, filtered
from kab_kernelagent.providers.provider import MAX_REPLY_CHARS, Forwarded, count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kab_kernelagent.providers.provider import ModelRequest

_FINISH = {"stop": Finish.STOP, "length": Finish.LENGTH, "content_filter": Finish.REFUSED}
_REQUEST_ID = "x-request-id"


class OpenAIProvider:
    """One client for all threads."""

    name = "openai"

    def __init__(self, *, base_url: str | None, key: str, stream: bool) -> None:
        """Make the client; nothing is sent.

        Args:
            base_url: The server; None for OpenAI's own.
            key: Sent as bearer token.
            stream: Have replies sent piece by piece.
        """
        from openai import OpenAI

        self._client = OpenAI(api_key=key, base_url=base_url, max_retries=0)
        self._stream = stream
        # OpenAI's newer models know only the newer name, many compatible servers only the older.
        self._limit_name = "max_tokens" if base_url else "max_completion_tokens"

    def call(self, request: ModelRequest, timeout_s: float, given_up: Callable[[], bool]) -> Reply:
        """Make one call, see ``Provider``."""
        parameters: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": item.role, "content": item.text} for item in request.messages],
            self._limit_name: request.reply_tokens,
            "timeout": timeout_s,
        }
        if request.temperature is not None:
            parameters["temperature"] = request.temperature
        if request.reasoning_effort:
            parameters["reasoning_effort"] = request.reasoning_effort
        try:
            if self._stream:
                return self._streamed(parameters, given_up)
            return self._whole(parameters)
        except CallFailedError:
            raise
        except Exception as error:
            if filtered(error):
                return _reply("", Finish.REFUSED, request.model, "", None)
            raise failure(error) from error

    def forward(self, body: Mapping[str, Any], timeout_s: float) -> Forwarded:
        """Make another client's call, see ``Provider``."""
        rest = {name: value for name, value in body.items() if name not in {"model", "messages"}}
        try:
            answer = self._client.chat.completions.with_raw_response.create(
                model=body["model"], messages=body["messages"], extra_body=rest, timeout=timeout_s
            )
            reply = _read(answer)
        except Exception as error:
            raise failure(error) from error
        return Forwarded(text=answer.text, reply=reply)

    def close(self) -> None:
        """Close the connections; no call may be under way."""
        self._client.close()

    def _whole(self, parameters: Mapping[str, Any]) -> Reply:
        return _read(self._client.chat.completions.with_raw_response.create(**parameters))

    def _streamed(self, parameters: Mapping[str, Any], given_up: Callable[[], bool]) -> Reply:
        answer = self._client.chat.completions.with_raw_response.create(
            **parameters, stream=True, stream_options={"include_usage": True}
        )
        pieces: list[str] = []
        size, ended, refused, finish = 0, False, False, Finish.UNKNOWN
        usage, model, request_id = None, "", answer.headers.get(_REQUEST_ID) or ""
        with answer.parse() as stream:
            for chunk in stream:
                usage = chunk.usage or usage
                model, request_id = chunk.model or model, request_id or chunk.id or ""
                for choice in chunk.choices[:1]:
                    refusal = getattr(choice.delta, "refusal", None)
                    text = _text(choice.delta.content) or refusal or ""
                    pieces.append(text)
                    size, refused = size + len(text), refused or bool(refusal)
                    if choice.finish_reason:
                        ended, finish = True, _FINISH.get(choice.finish_reason, Finish.UNKNOWN)
                if given_up() or size > MAX_REPLY_CHARS:
                    ended, finish = True, Finish.LENGTH
                    break
        if not ended:
            raise CallFailedError(CallOutcome.BROKEN, "the stream ended before the reply did")
        finish = Finish.REFUSED if refused else finish
        return _reply("".join(pieces), finish, model, request_id, usage)


def _read(answer: Any) -> Reply:
    completion = answer.parse()
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    text = _text(choice.message.content)
    finish = Finish.REFUSED if refusal else _FINISH.get(choice.finish_reason or "", Finish.UNKNOWN)
    request_id = answer.headers.get(_REQUEST_ID) or completion.id or ""
    return _reply(text or refusal or "", finish, completion.model or "", request_id, completion.usage)


def _reply(text: str, finish: Finish, model: str, request_id: str, usage: Any) -> Reply:
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return Reply(
        text=text[:MAX_REPLY_CHARS],
        finish=Finish.LENGTH if len(text) > MAX_REPLY_CHARS else finish,
        model=model,
        request_id=request_id,
        tokens_in=count(getattr(usage, "prompt_tokens", None)),
        tokens_out=count(getattr(usage, "completion_tokens", None)),
        tokens_cached=count(cached) or 0,
    )


def _text(content: Any) -> str:
    """Return a message's text, which some servers send in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return content or ""
