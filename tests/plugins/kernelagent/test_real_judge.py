"""A whole run with the real evaluator: one operator healed, one cheating model, one that never learns, one babbling."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import kagent_bench
from kagent_bench.generate.summary import Outcome
from tests.plugins.kernelagent.scripts import (
    NO_COMPILE,
    RELU,
    WRONG_TAIL,
    fenced,
    in_turn,
    operator_of,
)
from tests.plugins.kernelagent.server import KEY, Asked, ModelServer, Say, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.generate.summary import GenerateSummary

pytestmark = pytest.mark.timeout(600)
ADD = "import torch\n\n\ndef kernel_function(self, other, *, alpha=1):\n    return torch.add(self, other, alpha=alpha)\n"
BABBLE = Say(text="\x1b[2J../../../etc/passwd " + "x" * 900_000)
ARGUMENTS: dict[str, Any] = {
    "suite": "smoke",
    "dtype": ["fp32"],
    "cases_per_operator": 4,
    "rounds": 2,
    "num_workers": 1,
}
OPERATORS = ["relu", "add.Tensor", "mul.Tensor", "mm"]


def script(asked: Asked) -> Say | Status:
    """Answer by the operator that is asked about."""
    name = operator_of(asked)
    if name == "relu.default":
        return in_turn(NO_COMPILE, WRONG_TAIL, RELU)(asked)
    if name == "add.Tensor":
        return Say(text=fenced(f"{ADD}# {asked.turn}\n"))
    if name == "mul.Tensor":
        return Say(text=fenced(f"def kernel_function(self, other):\n    return self[{asked.turn}:]\n"))
    return BABBLE


@dataclass(frozen=True)
class Ran:
    """What a run left."""

    folder: Path
    server: ModelServer
    summary: GenerateSummary
    replayed: GenerateSummary
    asked: int
    """Requests before the replay."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """Generate, then repeat it from its record into another folder."""
    pytest.importorskip("openai")
    folder = tmp_path_factory.mktemp("agent")
    logs = str(folder / "logs")
    with pytest.MonkeyPatch.context() as patch, ModelServer(script).running() as server:
        patch.setenv("OPENAI_API_KEY", KEY)
        options = {
            "model": "m",
            "base_url": f"{server.url}/v1",
            "agents": 1,
            "max_rounds": 3,
            "agent_logs": logs,
        }
        for name in ("first", "second"):
            kagent_bench.setup(base_dir=folder / name, ops=OPERATORS, **ARGUMENTS)
        summary = _generate(folder / "first", options)
        asked = len(server.asked)
        record = next((folder / "logs").iterdir())
        replayed = _generate(folder / "second", {"replay": str(record), "agent_logs": logs})
        yield Ran(folder=folder, server=server, summary=summary, replayed=replayed, asked=asked)


def _generate(base_dir: Path, options: dict[str, Any]) -> GenerateSummary:
    return kagent_bench.generate(
        base_dir=base_dir, workflow="kernelagent", ops=OPERATORS, options=options, **ARGUMENTS
    )


def test_each_operator_has_its_end(ran: Ran) -> None:
    """One kernel is verified; the others are reported as failed, each by its reason."""
    ends = {item.op_name: (item.outcome, item.reason, item.verified) for item in ran.summary.operators}

    assert {
        "relu.default": (Outcome.GENERATED, "", True),
        "add.Tensor": (Outcome.FAILED, "rounds", False),
        "mul.Tensor": (Outcome.FAILED, "rounds", False),
        "mm.default": (Outcome.FAILED, "no_code", False),
    } == ends


def test_the_author_saw_the_real_feedback(ran: Ran) -> None:
    """The compile error with its line, then the element that the mask left out."""
    _, second, third = (asked for asked in ran.server.asked if operator_of(asked) == "relu.default")

    assert "has no attribute 'rectify'" in second.last
    assert "tl.store(target + index, tl.rectify(value), mask=inside)" in second.last
    assert "failed(values)" in third.last
    assert "elements wrong; worst at" in third.last


def test_the_cheat_was_told_and_all_attempts_are_kept(ran: Ran) -> None:
    """The judge rejected what let the library compute; nothing of it is verified."""
    _, second, third = (asked for asked in ran.server.asked if operator_of(asked) == "add.Tensor")
    attempts = sorted((ran.folder / "first" / "add__Tensor" / "attempts").glob("*.json"))

    assert "Verdict: rejected" in second.last
    assert "The rule that was broken" in third.last
    verdicts = {json.loads(path.read_text())["verdict"] for path in attempts}
    assert verdicts
    assert "correct" not in verdicts


def test_the_replay_is_the_run(ran: Ran) -> None:
    """Kernels, attempts, ledger and outcomes are the same, and the server was not asked again."""
    assert ran.asked == len(ran.server.asked)
    assert [_told(item) for item in ran.summary.operators] == [_told(item) for item in ran.replayed.operators]
    first, second = ran.folder / "first", ran.folder / "second"
    sources = sorted(path.relative_to(first) for path in first.rglob("*.py"))
    assert sources == sorted(path.relative_to(second) for path in second.rglob("*.py"))
    for path in sources:
        assert (first / path).read_bytes() == (second / path).read_bytes()
    logs = sorted((ran.folder / "logs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    ledgers = [sorted((path / "ledger.jsonl").read_text().splitlines()) for path in logs]
    assert ledgers[0] == ledgers[1]


def test_the_report_has_the_cost_of_a_correct_kernel(ran: Ran) -> None:
    """Calls and tokens are what the server counted, in the run's summary and on disk."""
    summary = kagent_bench.evaluate(
        base_dir=ran.folder / "first", run_dir=ran.folder / "results", ops=OPERATORS, **ARGUMENTS
    )

    spent = summary.scores["spending"]
    assert (ran.server.answered, ran.server.tokens_in) == (spent["calls"], spent["tokens_in"])
    assert spent["cost_usd"] is None
    assert "language model: cost" in (ran.folder / "results" / "OVERALL_SUMMARY.md").read_text()
    verdicts = {item.op_name: item.verdict.value for item in summary.operators}
    assert "correct" == verdicts["relu.default"]
    assert {"correct"} != set(verdicts.values())


def test_the_planted_key_is_nowhere(ran: Ran) -> None:
    """Not in the kernels folder, not in the logs."""
    files = [path for path in ran.folder.rglob("*") if path.is_file()]

    assert len(files) > 50
    assert [] == [path for path in files if KEY.encode() in path.read_bytes()]


def _told(item: Any) -> dict[str, Any]:
    return {**item.to_json(), "duration_s": 0, "kernel_path": ""}
