"""The agent's loop against a scripted server: refinement, cheats, prompts, and what is kept of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.model.names import OperatorName
from tests.plugins.kernelagent.agents import COMPILE, RIGHT, TAIL, Desk
from tests.plugins.kernelagent.scripts import CHEAT, NO_COMPILE, RELU, WRONG_TAIL, author_of, fenced, in_turn
from tests.plugins.kernelagent.server import KEY, Asked, Say, Status

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve

OPERATOR = OperatorName.parse("relu.default")


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
