"""Failures of providers and replies without a kernel: each has its own name, and none is a kernel's fault."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kab_kernelagent.store import RunStore
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import RELU, fenced
from tests.plugins.kernelagent.server import Asked, Say, Status

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

RUBBISH = {
    "refused": Say(text="I will not.", refusal=True),
    "empty": Say(text=""),
    "no_code": Say(text="../../../etc/passwd is what you need"),
    "truncated": Say(text=fenced(RELU)[:600], finish="length"),
    "not_python": Say(text="```python\ndef f(:\n```"),
    "too_long": Say(text="```python\n" + "# \x1b[2J../../x\n" * 700_000),
}


@pytest.mark.parametrize("lack", RUBBISH)
def test_a_reply_without_a_kernel_is_no_wrong_kernel(serve: Serve, desk: Desk, lack: str) -> None:
    """It is told what is lacking and asked again, never judged, and after three in a row given up by its own name."""
    server = serve(lambda _: RUBBISH[lack])

    result = desk.solve(base_url=f"{server.url}/v1")

    assert (None, lack) == (result.source, result.reason)
    assert [] == desk.judge.judged
    assert 3 == len(server.asked)
    assert "Nothing was judged" in server.asked[1].last


def test_a_kernel_after_rubbish_counts(serve: Serve, desk: Desk) -> None:
    """Rubbish costs no round."""
    says = [RUBBISH["refused"], RUBBISH["truncated"], Say(text=fenced(RELU))]

    result = desk.solve(base_url=f"{serve(lambda asked: says[asked.turn - 1]).url}/v1", max_rounds=1)

    assert RIGHT == result.source


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_passing_failures_are_tried_again(serve: Serve, desk: Desk, provider: str) -> None:
    """Rate limits and server errors are not the kernel's fault; the server's wish to wait is honoured."""
    answers = [
        Status(code=429, headers={"retry-after": "0.3"}),
        Status(code=500, headers={"retry-after": "0"}),
    ]

    def script(asked: Asked) -> Say | Status:
        return answers[asked.number - 1] if asked.number <= 2 else Say(text=fenced(RELU))

    server = serve(script)
    url = f"{server.url}/v1" if provider == "openai" else server.url
    started = time.monotonic()

    result = desk.solve(base_url=url, provider=provider)

    assert RIGHT == result.source
    assert time.monotonic() - started >= 0.3
    rows = [row for row in RunStore.read(desk.runs[0], str).ledger() if row["event"] == "ended"]
    assert ["rate_limited", "server_error", "answered"] == [row["outcome"] for row in rows]


def test_a_lasting_failure_is_reported_as_such(serve: Serve, desk: Desk) -> None:
    """A refused key ends the work at once, for all operators, and is no verdict on anything."""
    server = serve(lambda _: Status(code=401))
    session = desk.session(base_url=f"{server.url}/v1", agents=2)

    first = session.generate(request("relu.default", desk.judge))
    second = session.generate(request("abs.default", desk.judge))
    session.close(interrupted=False)

    assert ("unauthorised", "unauthorised") == (first.reason, second.reason)
    assert len(server.asked) <= 2
    assert [] == desk.judge.judged


def test_a_slow_stream_is_cut_by_the_clock(serve: Serve, desk: Desk) -> None:
    """A byte now and then does not keep a call alive."""
    server = serve(lambda _: Say(text="x" * 40_000, pause_s=0.2))

    result = desk.solve(base_url=f"{server.url}/v1", call_timeout=0.5, retries=0)

    assert (None, "timeout") == (result.source, result.reason)
