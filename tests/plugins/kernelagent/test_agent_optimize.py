"""The loop goes on for speed where kernels are timed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import Attempt
from tests.plugins.kernelagent.agents import Desk, request
from tests.plugins.kernelagent.scripts import RELU, fenced, in_turn
from tests.plugins.kernelagent.server import Say

if TYPE_CHECKING:
    from tests.plugins.kernelagent.conftest import Serve


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
    first, second = desk.runs
    for name in ("ledger.jsonl", "relu__default/steps.jsonl", "relu__default/transcript.md"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_optimizing_needs_a_device(serve: Serve, desk: Desk) -> None:
    """Nothing is timed in the interpreter, so that nothing could be chosen by speed."""
    with pytest.raises(UsageError, match="needs a device on which kernels are timed"):
        desk.session(base_url=f"{serve(in_turn(RELU)).url}/v1", optimize=True)
