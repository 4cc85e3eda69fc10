"""The agent's loop against a scripted server: refinement, cheats, rubbish, limits, and what is kept of it."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kab_kernelagent.ledger import spending_of
from kab_kernelagent.store import RunStore
from kagent_bench.errors import ConfigError, HarnessFault, UsageError
from kagent_bench.hooks.protocols import Attempt
from kagent_bench.model.names import OperatorName
from tests.plugins.kernelagent.agents import COMPILE, RIGHT, TAIL, Desk, request
from tests.plugins.kernelagent.scripts import CHEAT, NO_COMPILE, RELU, WRONG_TAIL, author_of, fenced, in_turn
from tests.plugins.kernelagent.server import KEY, Asked, Say, Status

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

OPERATOR = OperatorName.parse("relu.default")
PRICES = '[[price]]\nmodel = "m"\ninput = 1000.0\ncached = 100.0\noutput = 2000.0\ndate = "2026-01-01"\nsource = "test"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Return a folder for sessions."""
    return Desk(folder=tmp_path)


def test_two_faults_are_mended_in_the_third_round(serve: Serve, desk: Desk) -> None:
    """The author sees what the judge said of each draft, and the fixed kernel wins."""
    server = serve(in_turn(NO_COMPILE, WRONG_TAIL, RELU))

    result = desk.solve(base_url=f"{server.url}/v1")

    assert RIGHT == result.source
    assert [COMPILE, TAIL, RIGHT] == desk.judge.judged
    assert "no 'rectify'" in server.asked[1].last
    assert "worst at [36, 28]" in server.asked[2].last
    assert desk.spent is not None
    assert (3, None) == (desk.spent.calls, desk.spent.cost_usd)


def test_a_cheat_is_told_and_never_accepted(serve: Serve, desk: Desk) -> None:
    """The rule that was broken is named; a model that goes on cheating ends without a kernel."""
    server = serve(in_turn(CHEAT))

    result = desk.solve(base_url=f"{server.url}/v1", max_rounds=3)

    assert (None, "rounds") == (result.source, result.reason)
    assert "The rule that was broken" in server.asked[1].last
    assert "This is the same kernel as one that was judged before" in server.asked[2].last
    assert 1 == len(desk.judge.judged)


def test_the_first_right_kernel_stops_the_others(serve: Serve, desk: Desk) -> None:
    """Dialogues run side by side with prompts of their own; none starts another call after one has won."""

    def script(asked: Asked) -> Say:
        right = author_of(asked) == 3
        return Say(text=fenced(RELU if right else WRONG_TAIL), after_s=0.05 if right else 0.4)

    server = serve(script)

    result = desk.solve(base_url=f"{server.url}/v1", agents=4)

    assert (RIGHT, 3) == (result.source, result.details["dialogue"])
    assert 4 == len(server.asked)
    assert 4 == len({asked.problem for asked in server.asked})


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


def test_no_key_reaches_the_disk_or_the_prompt(serve: Serve, desk: Desk) -> None:
    """Not even when the server repeats it in errors and replies, or the judge in its words."""

    def script(asked: Asked) -> Say | Status:
        if asked.number == 1:
            return Status(
                code=500,
                body=f'{{"error": {{"message": "bad {KEY}"}}}}'.encode(),
                headers={"retry-after": "0"},
            )
        return Say(
            text=fenced(WRONG_TAIL + f"\n# {KEY}\n" if asked.number == 2 else RELU + f"\nK = '{KEY}'\n")
        )

    server = serve(script)

    result = desk.solve(base_url=f"{server.url}/v1")

    assert result.source is not None
    assert KEY not in result.source
    assert all(KEY not in text for asked in server.asked for _, text in asked.texts)
    files = [path for path in desk.folder.rglob("*") if path.is_file()]
    assert files
    assert [] == [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_transcript_reads_as_a_story(serve: Serve, desk: Desk) -> None:
    """Prompts, replies and verdicts in their order, and nothing that a terminal would obey."""
    server = serve(in_turn(NO_COMPILE + "# \x1b[2J\n", RELU, wrap=lambda text: f"\x1b]0;x\x07{fenced(text)}"))

    desk.solve(base_url=f"{server.url}/v1")

    text = (desk.runs[0] / OPERATOR.folder / "transcript.md").read_text()
    assert "\x1b" not in text
    places = [
        text.index(part)
        for part in ("system says", "tl.rectify", "judge says: incorrect", "judge says: correct")
    ]
    assert sorted(places) == places


def test_templates_of_ones_own_are_used_and_kept(serve: Serve, desk: Desk) -> None:
    """Only those that are there take our templates' place."""
    mine = desk.folder / "mine"
    mine.mkdir()
    (mine / "system.md.j2").write_text("Speak Triton to {{ function }} on {{ device }}.")
    server = serve(in_turn(RELU))

    desk.solve(base_url=f"{server.url}/v1", prompts=str(mine))

    assert ("system", f"Speak Triton to {OPERATOR.kernel_function} on cpu.\n") == server.asked[0].texts[0]
    kept = [path for path in desk.folder.rglob("prompts/system.md.j2") if path.is_file()]
    assert ["Speak Triton to {{ function }} on {{ device }}."] == [path.read_text() for path in kept]


def test_a_prompt_has_a_size(serve: Serve, desk: Desk) -> None:
    """Old attempts leave first; rules and problem stay."""
    server = serve(lambda asked: Say(text=fenced(WRONG_TAIL + f"# {asked.turn}\n" + "# long\n" * 500)))

    desk.solve(base_url=f"{server.url}/v1", prompt_chars=12_000, max_rounds=6)

    sizes = [sum(len(text) for _, text in asked.texts) for asked in server.asked]
    assert max(sizes) <= 12_500
    assert "earlier attempts are left out" in server.asked[-1].problem
    assert "# relu.default" in server.asked[-1].problem


# --- going on, and repeating ------------------------------------------------------------------------------------


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


def test_a_recorded_run_is_repeated_without_network(serve: Serve, desk: Desk) -> None:
    """Same prompts, kernels, verdicts and ledger, whoever won the race then; the server is not asked."""

    def script(asked: Asked) -> Say:
        sources = [WRONG_TAIL, RELU if author_of(asked) == 2 else NO_COMPILE, RELU]
        return Say(text=fenced(sources[asked.turn - 1] + f"# by {author_of(asked)}\n"), after_s=0.02)

    server = serve(script)
    first = desk.solve(base_url=f"{server.url}/v1", agents=3)
    asked, folder = len(server.asked), desk.runs[0]

    second = desk.solve(replay=str(folder), model="")

    assert asked == len(server.asked)
    assert first.source == second.source
    made = next(path for path in desk.runs if path != folder)
    for name in ("ledger.jsonl", "relu__default/steps.jsonl", "relu__default/transcript.md", "judge_seed"):
        assert (folder / name).read_bytes() == (made / name).read_bytes(), name
    for path in folder.glob("relu__default/dialogue_*/*"):
        if (made / path.relative_to(folder)).exists():
            assert path.read_bytes() == (made / path.relative_to(folder)).read_bytes()
    assert {**dict(first.details), "run": ""} == {**dict(second.details), "run": ""}


def test_a_kernel_that_two_judged_at_once_is_judged_twice_again(serve: Serve, desk: Desk) -> None:
    """Neither author heard that the other had sent the same, and neither hears it in the repetition."""
    both = threading.Barrier(2, timeout=20)

    def judge(source: str) -> Attempt:
        if "n - 1" in source:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait()
        return desk.judge(source)

    server = serve(in_turn(WRONG_TAIL, RELU))
    session = desk.session(base_url=f"{server.url}/v1", agents=2)
    first = session.generate(request("relu.default", judge))
    session.close(interrupted=False)
    repeated = desk.session(replay=str(desk.runs[0]))

    second = repeated.generate(request("relu.default", desk.judge))
    repeated.close(interrupted=False)

    assert (RIGHT, RIGHT) == (first.source, second.source)
    steps = [(path / "relu__default" / "steps.jsonl").read_bytes() for path in desk.runs]
    assert steps[0] == steps[1]


def test_a_record_of_another_prompt_is_not_passed_off(serve: Serve, desk: Desk) -> None:
    """The first line that differs is named."""
    server = serve(in_turn(WRONG_TAIL, RELU))
    desk.solve(base_url=f"{server.url}/v1")
    session = desk.session(replay=str(desk.runs[0]))

    def other(source: str) -> Attempt:
        return Attempt(source=source, verdict="incorrect", feedback="failed(values): elsewhere")

    with pytest.raises(HarnessFault, match=r"was about another text: line .* was .* worst at"):
        session.generate(request("relu.default", other))
    session.close(interrupted=True)


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


def test_optimizing_goes_on_and_keeps_the_fastest(serve: Serve, desk: Desk) -> None:
    """The author hears how fast each kernel was; a slower or wrong one after the best changes nothing."""
    speeds = {"# 1\n": 1.5, "# 2\n": 3.25, "# 3\n": 2.0}

    def judge(source: str) -> Attempt:
        speedup = next((speed for mark, speed in speeds.items() if source.endswith(mark)), None)
        verdict = "incorrect" if speedup is None else "correct"
        timing = "" if speedup is None else f"relu.default(T([9])): 1 us, {speedup}x"
        return Attempt(source=source, verdict=verdict, feedback="", speedup=speedup, timing=timing)

    server = serve(lambda asked: Say(text=fenced(RELU + f"# {asked.turn}\n")))
    session = desk.session(base_url=f"{server.url}/v1", optimize=True, max_rounds=4, device="cuda")

    result = session.generate(request("relu.default", judge))
    session.close(interrupted=False)

    assert result.source is not None
    assert result.source.endswith("# 2\n")
    assert 4 == len(server.asked)
    assert "3.25 times the speed of eager" in server.asked[2].last
    assert "relu.default(T([9])): 1 us, 3.25x" in server.asked[2].last
    repeated = desk.session(replay=str(desk.runs[0]), device="cuda")
    again = repeated.generate(request("relu.default", lambda source: replace(judge(source), speedup=9.0)))
    repeated.close(interrupted=False)
    assert result.source == again.source


def test_optimizing_needs_a_device(serve: Serve, desk: Desk) -> None:
    """Nothing is timed in the interpreter, so that nothing could be chosen by speed."""
    with pytest.raises(UsageError, match="needs a device on which kernels are timed"):
        desk.session(base_url=f"{serve(in_turn(RELU)).url}/v1", optimize=True)
