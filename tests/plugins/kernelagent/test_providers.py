"""The official clients against real wire formats: replies, refusals, and every way in which a call can fail."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING

import pytest

from kab_kernelagent.outcome import CallFailedError, CallOutcome, Finish
from kab_kernelagent.providers.choose import Endpoint, connect
from kab_kernelagent.providers.provider import MAX_REPLY_CHARS, Message, ModelRequest
from tests.plugins.kernelagent.server import KEY, Say, Status

if TYPE_CHECKING:
    from kab_kernelagent.outcome import Reply
    from tests.plugins.kernelagent.conftest import Serve
    from tests.plugins.kernelagent.server import ModelServer

REQUEST = ModelRequest(
    provider="",
    model="m",
    messages=(Message(role="system", text="rules"), Message(role="user", text="problem")),
    temperature=0.5,
    reasoning_effort="high",
    reply_tokens=77,
)
TEXT = "Grüße, \N{SNOWMAN}\n" * 200


def _call(server: ModelServer, provider: str, *, stream: bool, timeout_s: float = 5.0) -> Reply:
    url = f"{server.url}/v1" if provider == "openai" else server.url
    client = connect(Endpoint(provider=provider, base_url=url, key=KEY), stream=stream)
    try:
        return client.call(REQUEST, timeout_s, lambda: False)
    finally:
        client.close()


EACH = pytest.mark.parametrize(
    ("provider", "stream"),
    [("openai", True), ("openai", False), ("anthropic", True), ("anthropic", False)],
    ids=["openai-stream", "openai", "anthropic-stream", "anthropic"],
)


@EACH
def test_a_reply_is_read_whole(serve: Serve, provider: str, *, stream: bool) -> None:
    """Text, finish, version of the model, request id and tokens; the request carries what was asked for."""
    server = serve(lambda _: Say(text=TEXT, tokens=(120, 30), cached=20))

    reply = _call(server, provider, stream=stream)

    assert (TEXT, Finish.STOP) == (reply.text, reply.finish)
    assert (120, 30, 20) == (reply.tokens_in, reply.tokens_out, reply.tokens_cached)
    assert "req_1" == reply.request_id
    assert reply.model.startswith("m-2026")
    asked = server.asked[0]
    assert [("system", "rules"), ("user", "problem")] == asked.texts
    assert ("m", 0.5, 77) == (asked.body["model"], asked.body["temperature"], asked.body["max_tokens"])
    effort = asked.body.get("reasoning_effort") or asked.body["output_config"]["effort"]
    assert "high" == effort
    assert KEY in {
        asked.headers.get("x-api-key"),
        asked.headers.get("authorization", "").removeprefix("Bearer "),
    }


@EACH
@pytest.mark.parametrize(
    ("answer", "finish"),
    [
        (Say(text="half", finish="length"), Finish.LENGTH),
        (Say(text="I will not", refusal=True), Finish.REFUSED),
        (Say(text="", finish="content_filter"), Finish.REFUSED),
        (Say(text=""), Finish.STOP),
    ],
    ids=["length", "refusal", "filter", "empty"],
)
def test_why_the_model_stopped_is_known(
    serve: Serve, provider: str, answer: Say, finish: Finish, *, stream: bool
) -> None:
    """A refusal and a cut-off are not ordinary replies; an empty reply is one."""
    reply = _call(serve(lambda _: answer), provider, stream=stream)

    assert (answer.text, finish) == (reply.text, reply.finish)


@EACH
@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Status(code=429, headers={"retry-after": "7"}), CallOutcome.RATE_LIMITED),
        (Status(code=529), CallOutcome.RATE_LIMITED),
        (Status(code=500), CallOutcome.SERVER_ERROR),
        (Status(code=503, body=b"<html>busy</html>"), CallOutcome.SERVER_ERROR),
        (Status(code=401), CallOutcome.UNAUTHORISED),
        (Status(code=403), CallOutcome.UNAUTHORISED),
        (Status(code=404), CallOutcome.BAD_REQUEST),
        (Status(code=400), CallOutcome.BAD_REQUEST),
        (Status(code=429, body=b'{"error": {"code": "insufficient_quota"}}'), CallOutcome.UNAUTHORISED),
        (Say(text="x", hang_up_after=0), CallOutcome.CONNECTION),
    ],
    ids=lambda item: item.value if isinstance(item, CallOutcome) else "",
)
def test_each_failure_has_its_outcome(
    serve: Serve, provider: str, answer: Say | Status, outcome: CallOutcome, *, stream: bool
) -> None:
    """None of them is a reply; a server's wish to wait is told."""
    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: answer), provider, stream=stream)

    assert outcome is caught.value.outcome
    wish = answer.headers.get("retry-after") if isinstance(answer, Status) else None
    assert (float(wish) if wish else None) == caught.value.retry_after_s


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("7.5", 7.5, 7.5), (None, 50, 60), ("99999999", 600, 600), ("inf", 600, 600)],
    ids=["seconds", "a date", "years", "for ever"],
)
def test_a_wish_to_wait_is_understood(serve: Serve, value: str | None, least: float, most: float) -> None:
    """Seconds or a date of HTTP; a mistaken one must not stop a run for a day."""
    text = value or email.utils.formatdate(time.time() + 60, usegmt=True)

    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: Status(code=429, headers={"retry-after": text})), "openai", stream=True)

    assert caught.value.retry_after_s is not None
    assert least <= caught.value.retry_after_s <= most


@pytest.mark.parametrize("value", ["soon", "-5", "nan", ""])
def test_what_is_no_wish_to_wait_is_none(serve: Serve, value: str) -> None:
    """It must not lead to a call at once either."""
    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: Status(code=429, headers={"retry-after": value})), "openai", stream=True)

    assert (CallOutcome.RATE_LIMITED, None) == (caught.value.outcome, caught.value.retry_after_s)


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("overloaded_error", CallOutcome.RATE_LIMITED),
        ("authentication_error", CallOutcome.UNAUTHORISED),
        ("invalid_request_error", CallOutcome.BAD_REQUEST),
        ("api_error", CallOutcome.SERVER_ERROR),
    ],
)
def test_an_error_in_a_stream_is_one(serve: Serve, provider: str, code: str, outcome: CallOutcome) -> None:
    """The status says that all is well by then."""
    body = f'event: error\ndata: {{"type": "error", "error": {{"type": "{code}", "message": "x"}}}}\n\n'
    answer = Status(code=200, body=body.encode(), headers={"Content-Type": "text/event-stream"})

    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: answer), provider, stream=True)

    assert outcome is caught.value.outcome


def test_a_filter_before_the_model_is_a_refusal(serve: Serve) -> None:
    """Servers that filter prompts say so by an error."""
    body = b'{"error": {"code": "content_filter", "message": "x"}}'

    reply = _call(serve(lambda _: Status(code=400, body=body)), "openai", stream=True)

    assert ("", Finish.REFUSED) == (reply.text, reply.finish)


WHOLE = """{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": %s, "choices": [
{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": %s}}]}"""


@pytest.mark.parametrize(
    "usage", ["null", '{"prompt_tokens": -5, "completion_tokens": "7"}', '{"prompt_tokens": true}']
)
def test_counts_that_are_none_are_unknown(serve: Serve, usage: str) -> None:
    """Limits are kept by them."""
    body = (WHOLE % (usage, '"text"')).encode()

    reply = _call(serve(lambda _: Status(code=200, body=body)), "openai", stream=False)

    assert ("text", None, None) == (reply.text, reply.tokens_in, reply.tokens_out)


def test_a_text_in_parts_is_put_together(serve: Serve) -> None:
    """As some servers send it."""
    body = (
        WHOLE % ("null", '[{"type": "text", "text": "a"}, {"type": "x"}, {"type": "text", "text": "b"}]')
    ).encode()

    assert "ab" == _call(serve(lambda _: Status(code=200, body=body)), "openai", stream=False).text


@EACH
def test_what_is_no_reply_is_broken(serve: Serve, provider: str, *, stream: bool) -> None:
    """JSON of another shape, and no JSON at all."""
    for body in (b"{}", b"[1, 2", b"", b"<html>", b'{"choices": [], "content": null}', b'{"model": "\xff"}'):
        with pytest.raises(CallFailedError) as caught:
            _call(serve(lambda _, body=body: Status(code=200, body=body)), provider, stream=stream)

        assert caught.value.outcome in {CallOutcome.BROKEN, CallOutcome.CONNECTION}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_half_a_stream_is_no_reply(serve: Serve, provider: str) -> None:
    """A connection that breaks in the middle must not look like a short answer."""
    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: Say(text=TEXT, hang_up_after=1)), provider, stream=True)

    assert caught.value.outcome in {CallOutcome.BROKEN, CallOutcome.CONNECTION}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_silent_server_is_left(serve: Serve, provider: str) -> None:
    """After the time limit of the call."""
    with pytest.raises(CallFailedError) as caught:
        _call(serve(lambda _: Say(text="x", after_s=3)), provider, stream=False, timeout_s=0.2)

    assert CallOutcome.TIMEOUT is caught.value.outcome


@EACH
def test_a_flood_is_cut(serve: Serve, provider: str, *, stream: bool) -> None:
    """Of ten megabytes one is kept, and the reply counts as cut off."""
    reply = _call(serve(lambda _: Say(text="x" * 10_000_000)), provider, stream=stream, timeout_s=60)

    assert MAX_REPLY_CHARS == len(reply.text)
    assert Finish.LENGTH is reply.finish


def test_a_server_that_tells_no_tokens(serve: Serve) -> None:
    """The counts are unknown, not zero."""
    for stream in (True, False):
        reply = _call(serve(lambda _: Say(text="x", tokens=None)), "openai", stream=stream)

        assert (None, None) == (reply.tokens_in, reply.tokens_out)
