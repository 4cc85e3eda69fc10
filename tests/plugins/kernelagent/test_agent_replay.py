"""A recorded run is repeated without network, or it is said that it cannot be."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kab_kernelagent.store import RunStore
from kagent_bench.errors import HarnessFault
from kagent_bench.hooks.protocols import Attempt
from tests.plugins.kernelagent.agents import RIGHT, Desk, request
from tests.plugins.kernelagent.scripts import NO_COMPILE, RELU, WRONG_TAIL, author_of, fenced, in_turn
from tests.plugins.kernelagent.server import Asked, Say

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve


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
    files = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    assert files == {path.relative_to(made) for path in made.rglob("*") if path.is_file()}
    other = {Path("run.json"), Path("relu__default/outcome.json")}  # they name the run
    assert [] == [
        path for path in files - other if (folder / path).read_bytes() != (made / path).read_bytes()
    ]
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


def test_no_step_refers_to_a_later_one(serve: Serve, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An author who sends what another one has just had judged must not be recorded before that one is."""
    append = RunStore.append_step

    def slowly(store: RunStore, folder: str, step: Mapping[str, Any]) -> None:
        time.sleep(0.0 if step["repeated"] else 0.5)
        append(store, folder, step)

    monkeypatch.setattr(RunStore, "append_step", slowly)
    server = serve(lambda asked: Say(text=fenced(WRONG_TAIL), after_s=0.25 * (author_of(asked) - 1)))

    desk.solve(base_url=f"{server.url}/v1", agents=2, max_rounds=2)

    seen: set[str] = set()
    for row in RunStore.read(desk.runs[0], str).steps("relu__default"):
        assert not row["repeated"] or row["source"] in seen
        seen.add(row["source"])


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
