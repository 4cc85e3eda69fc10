"""Limits of time, tokens and money, and what is refused before any work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.errors import ConfigError, UsageError
from kagent_bench.model.names import OperatorName
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import RELU, WRONG_TAIL, fenced, in_turn
from tests.plugins.kernelagent.server import Asked, Say

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

OPERATOR = OperatorName.parse("relu.default")


PRICES = '[[price]]\nmodel = "m"\ninput = 1000.0\ncached = 100.0\noutput = 2000.0\ndate = "2026-01-01"\nsource = "test"\n'


def test_the_time_of_an_operator_is_kept(serve: Serve, desk: Desk) -> None:
    """The answer does not wait for a late reply, which is counted all the same."""
    server = serve(lambda _: Say(text=fenced(WRONG_TAIL), after_s=3))
    session = desk.session(base_url=f"{server.url}/v1")
    started = time.monotonic()

    result = session.generate(request("relu.default", desk.judge, deadline_s=1.0))

    assert time.monotonic() - started < 2.5
    assert (None, "time_limit") == (result.source, result.reason)
    session.close(interrupted=False)
    assert 1 == session.spending(OPERATOR).calls  # type: ignore[union-attr]


def test_the_limit_of_tokens_is_never_passed(serve: Serve, desk: Desk) -> None:
    """A call that could pass it is not made; everything judged so far is kept."""

    def script(asked: Asked) -> Say:
        sent = sum(len(text) for _, text in asked.texts) // 3
        return Say(text=fenced(WRONG_TAIL + f"# {asked.turn}\n"), tokens=(sent, 1000))

    server = serve(script)

    result = desk.solve(base_url=f"{server.url}/v1", max_tokens=20_000, reply_tokens=1000, agents=3)

    assert (None, "budget") == (result.source, result.reason)
    assert "--max-tokens" in result.detail
    assert 0 < server.tokens_in + server.tokens_out <= 20_000


def test_the_limit_of_money_is_never_passed(serve: Serve, desk: Desk) -> None:
    """Prices come from the user's file; the ledger has the cost of each call."""
    prices = desk.folder / "prices.toml"
    prices.write_text(PRICES)
    server = serve(
        lambda asked: Say(text=fenced(WRONG_TAIL + f"# {asked.turn}\n"), tokens=(100, 50), cached=60)
    )

    result = desk.solve(base_url=f"{server.url}/v1", max_cost=5.0, reply_tokens=100, prices=str(prices))

    cost = 1e-6 * (40 * 1000 + 60 * 100 + 50 * 2000)
    assert "budget" == result.reason
    assert desk.spent is not None
    assert pytest.approx(server.answered * cost) == desk.spent.cost_usd
    assert 0 < server.answered * cost <= 5.0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"model": ""}, UsageError, "no language model is named"),
        (
            {"model": "gpt-5", "max_cost": 1.0, "base_url": "http://127.0.0.1:1/v1"},
            UsageError,
            "price of 'gpt-5'",
        ),
        ({"base_url": "localhost:8000"}, UsageError, "no address of a server"),
        ({"base_url": "http://me:pass@127.0.0.1/v1"}, UsageError, "holds a secret"),
        ({"prompts": "nowhere"}, ConfigError, "holds no template"),
        ({"prices": "nowhere.toml"}, ConfigError, "cannot be read"),
    ],
)
def test_what_cannot_work_is_told_before_any_work(
    serve: Serve, desk: Desk, options: dict[str, Any], error: type[UsageError], words: str
) -> None:
    """Nothing is written, nothing is sent."""
    serve(in_turn(RELU))

    with pytest.raises(error, match=words):
        desk.session(**options)

    assert [] == list(desk.folder.iterdir())


def test_a_missing_key_is_told(serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server of one's own needs none."""
    server = serve(in_turn(RELU))
    monkeypatch.delenv("OPENAI_API_KEY")

    with pytest.raises(UsageError, match="OPENAI_API_KEY is not set"):
        desk.session(model="gpt-5")
    assert RIGHT == desk.solve(base_url=f"{server.url}/v1").source
