"""The fuser around the agent: regions that a scripted model solves at once, later or never, judged by the evaluator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugins.kernelagent.scripts import CHEAT, RELU, WRONG_TAIL, fenced
from tests.plugins.kernelagent.server import KEY, ModelServer, Say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Command
    from tests.plugins.kernelagent.server import Asked

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # seven kernels are judged and compiled

MODULE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        ordered, _ = torch.sort(torch.relu(x))
        return torch.softmax(ordered, -1)


def get_inputs():
    return [torch.randn(6, 20)]


def get_init_inputs():
    return []
"""
ROUNDS = 2


def script(asked: Asked) -> Say:
    """Write a fault and then the right kernel for the rectifier, the same for the sort, and let the library do the softmax."""
    if "softmax" in asked.problem:
        return Say(text=fenced(CHEAT.replace("relu(self)", "softmax(self, -1)")))
    return Say(text=fenced(WRONG_TAIL if asked.turn == 1 else RELU))


def test_a_composition_of_what_the_agent_solved(command: Command, tmp_path: Path) -> None:
    """The region solved in the second round is a kernel, the others stay eager and count, and all calls are paid for."""
    (tmp_path / "one.py").write_text(MODULE)
    suite = ("--suite", "kernelbench", "--suite-file", "one.py", "-q")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with ModelServer(script).running() as server:
        done = command(
            tmp_path,
            *(
                "generate",
                *suite,
                "--rounds",
                "2",
                "--workflow",
                "fuser",
                "--inner",
                "kernelagent",
                "--model",
                "m",
            ),
            *("--base-url", f"{server.url}/v1", "--agents", "1", "--max-rounds", str(ROUNDS)),
            OPENAI_API_KEY=KEY,
            **cache,
        )
    folder = tmp_path / "generated_kernels" / "one__module"
    composed = (folder / "one__module_implementation.py").read_text()
    details: dict[str, Any] = json.loads((folder / "provenance.json").read_text())["details"]
    judged = command.json(tmp_path, "evaluate", *suite, "--rounds", "2", **cache)["operators"][0]

    assert 0 == done.returncode, done.stderr
    assert 'EAGER = ("softmax", "sort")' in composed
    assert "def relu_kernel" in composed
    assert ("correct", "") == (judged["verdict"], judged["reason"])
    assert 1 / 3 == pytest.approx(judged["coverage"]["operators"])
    assert (1, 2, 2 * ROUNDS + 1) == (details["regions"], details["eager_calls"], details["region_attempts"])
    assert 3 * ROUNDS == server.answered
    (path,) = tmp_path.rglob("spending.json")
    (spent,) = json.loads(path.read_text())["runs"].values()
    assert (server.answered, server.tokens_in) == (spent["calls"], spent["tokens_in"])
