"""A run that was stopped is gone on with: no stored reply is paid for again, and the ledger is the server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_kernelagent.ledger import spending_of
from kab_kernelagent.store import RunStore
from kagent_bench.model.names import OperatorName
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import NO_COMPILE, RELU, WRONG_TAIL, fenced, in_turn
from tests.plugins.kernelagent.server import Asked, Say, Status

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

OPERATOR = OperatorName.parse("relu.default")


def test_an_interrupted_run_pays_for_no_reply_twice(serve: Serve, desk: Desk) -> None:
    """Stored replies and verdicts are used again, a call that was lost is counted, finished operators are left."""
    hold = {"at": 3}

    def script(asked: Asked) -> Say | Status:
        if asked.turn == hold["at"]:
            return Say(text="", after_s=0.0, hang_up_after=0)
        return in_turn(NO_COMPILE, WRONG_TAIL, RELU)(asked)

    server = serve(script)
    options: dict[str, Any] = {"base_url": f"{server.url}/v1", "retries": 0}
    first = desk.solve(**options)
    answered, judged = server.answered, len(desk.judge.judged)
    hold["at"] = 0

    second = desk.solve(**options)

    assert (None, "connection") == (first.source, first.reason)
    assert RIGHT == second.source
    assert (answered + 1, judged + 1) == (server.answered, len(desk.judge.judged))
    assert 1 == len(desk.runs)
    third = desk.solve(**options)
    assert RIGHT == third.source  # the run was finished: this is a new one
    assert 2 == len(desk.runs)


def test_calls_that_were_under_way_when_it_was_killed_are_counted(serve: Serve, desk: Desk) -> None:
    """As lost, unless their reply had been stored."""
    server = serve(in_turn(RELU))
    options: dict[str, Any] = {"base_url": f"{server.url}/v1", "max_rounds": 2}
    session = desk.session(**options)
    session.generate(request("relu.default", desk.judge))
    folder = desk.runs[0]
    ledger = folder / "ledger.jsonl"
    rows = ledger.read_text().splitlines(keepends=True)
    sent = rows[0].replace('"1"', '"2"').replace("relu__default/1/1", "relu__default/1/7")
    ledger.write_text(
        rows[0] + sent + rows[1][:20]
    )  # killed: the reply is stored, its row is torn, another is away
    session._store.close()
    (folder / OPERATOR.folder / "outcome.json").unlink()

    again = desk.session(**options)
    result = again.generate(request("relu.default", desk.judge))
    again.close(interrupted=False)

    spent = again.spending(OPERATOR)
    assert spent is not None
    assert (RIGHT, 1, 1) == (result.source, spent.calls, spent.failed_calls)
    assert 1 == len(server.asked)


def test_a_limit_that_was_raised_lets_a_run_go_on(serve: Serve, desk: Desk) -> None:
    """The dialogue continues where the money ended."""
    sources = (NO_COMPILE, WRONG_TAIL, RELU)
    server = serve(lambda asked: Say(text=fenced(sources[asked.turn - 1]), tokens=(1500, 100)))
    options: dict[str, Any] = {"base_url": f"{server.url}/v1", "reply_tokens": 100}

    first = desk.solve(**options, max_tokens=3000)
    second = desk.solve(**options, max_tokens=300_000)

    assert ("budget", RIGHT) == (first.reason, second.source)
    assert 3 == server.answered


def test_the_ledger_agrees_with_the_server(serve: Serve, desk: Desk) -> None:
    """Calls and tokens, over several operators and dialogues at once."""
    server = serve(
        lambda asked: Say(text=fenced(RELU if asked.turn == 2 else WRONG_TAIL), tokens=(asked.number, 7))
    )
    session = desk.session(base_url=f"{server.url}/v1", agents=2)

    for name in ("relu.default", "abs.default", "neg.default"):
        session.generate(request(name, desk.judge))
    session.close(interrupted=False)

    sums = spending_of(RunStore.read(desk.runs[0], str).ledger()).values()
    assert server.answered == sum(item.calls for item in sums)
    assert (server.tokens_in, server.tokens_out) == (
        sum(item.tokens_in for item in sums),
        sum(item.tokens_out for item in sums),
    )


def test_a_run_in_which_nothing_was_done_leaves_nothing(serve: Serve, desk: Desk) -> None:
    """All kernels were up to date; one with work stays."""
    options: dict[str, Any] = {"base_url": f"{serve(in_turn(RELU)).url}/v1"}
    desk.session(**options).close(interrupted=False)

    assert [] == desk.runs
    desk.solve(**options)
    desk.session(**options).close(interrupted=False)
    assert 1 == len(desk.runs)


def test_what_no_reply_told_counts_in_full(serve: Serve, desk: Desk) -> None:
    """A server that tells no tokens, and a call that was given up, could hide what a limit is for."""
    for answer in (Say(text=fenced(WRONG_TAIL), tokens=None), Say(text="x", after_s=3)):
        server = serve(lambda _, answer=answer: answer)
        options: dict[str, Any] = {
            "base_url": f"{server.url}/v1",
            "reply_tokens": 4000,
            "call_timeout": 1.0,
            "retries": 9,
            "max_tokens": 12_000,
        }
        first = desk.solve(**options)
        second = desk.solve(**options)  # what the ledger says of it holds as well

        assert ("budget", "budget") == (first.reason, second.reason)
        assert 0 < len(server.asked) <= 2
