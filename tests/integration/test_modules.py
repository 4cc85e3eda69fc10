"""Module problems end to end: problem files beside hand-written kernels, each with the verdict that it must get."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Command

pytestmark = pytest.mark.timeout(300)  # recording, judging and compiling eight problems on a busy machine

GOOD = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.register_buffer("scale", torch.linspace(0.5, 2.0, width))

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale + x


def get_inputs():
    return [torch.randn(6, 16)]


def get_init_inputs():
    return [16]
"""
KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def tail_kernel(y, scale, x, out, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < n
    value = tl.load(y + place, mask=inside)
    value = tl.where(value < 0, 0, value) * tl.load(scale + place % WIDTH, mask=inside)
    tl.store(out + place, value + tl.load(x + place, mask=inside)FAULT, mask=inside)


def tail(y, scale, x):
    out = torch.empty_like(x)
    tail_kernel[(triton.cdiv(x.numel(), 32),)](y, scale, x, out, x.numel(), WIDTH=16, BLOCK=32)
    return out
"""
FUNCTION = """

def kernel_function(x, linear_weight, linear_bias, scale):
    return tail(torch.nn.functional.linear(x, linear_weight, linear_bias), scale, x)
"""
CLASS = """

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.register_buffer("scale", torch.linspace(0.5, 2.0, width))

    def forward(self, x):
        return tail(self.linear(x), self.scale, x)
"""
EAGER = '\nEAGER = ("linear",)\n'
RIGHT = KERNEL.replace("FAULT", "")
KERNELS = {
    "function": (RIGHT + FUNCTION + EAGER, "correct", ""),
    "class": (RIGHT + CLASS + EAGER, "correct", ""),
    "undeclared": (RIGHT + FUNCTION, "rejected", "library_compute"),
    "wrong": (KERNEL.replace("FAULT", " + 1e-3") + FUNCTION + EAGER, "incorrect", "values"),
    "all_eager": (
        FUNCTION.replace("tail(", "finish(")
        + "\n\ndef finish(y, scale, x):\n    return torch.relu(y) * scale + x\n\n\nimport torch\n"
        + '\nEAGER = ("linear", "relu", "mul", "add")\n',
        "rejected",
        "no_kernel",
    ),
}
FAULTS = {
    "raises": ('raise ValueError("not today")\n', "problem_raises"),
    "imports": ("import nothing_of_this_name\n", "missing_import"),
    "exits": ("import os\n\nos._exit(3)\n", "problem_crashes"),
    "draws": (GOOD.replace("torch.relu(", "torch.rand_like("), "random"),
}


@pytest.fixture(scope="module")
def judged(command: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Judge all kernels in one run; returns the operators of the report by name."""
    folder = tmp_path_factory.mktemp("modules")
    problems = folder / "problems"
    problems.mkdir()
    for name, (kernel, _, _) in KERNELS.items():
        (problems / f"{name}.py").write_text(GOOD)
        place = folder / "generated_kernels" / f"{name}__module"
        place.mkdir(parents=True)
        (place / f"{name}__module_implementation.py").write_text(kernel)
    for name, (source, _) in FAULTS.items():
        (problems / f"{name}.py").write_text(source)
    options = [
        "--suite",
        "kernelbench",
        "--suite-file",
        str(problems),
        "--rounds",
        "2",
        "--performance",
        "on",
    ]
    printed = command.json(folder, "evaluate", *options)
    (results,) = folder.glob("log_BackendBench/*/results.jsonl")
    records = [json.loads(line) for line in results.read_text().splitlines()]
    timings = {record["op_name"]: record["timing"] for record in records if record.get("timing")}
    return {
        item["op_name"].removesuffix(".module"): {**item, "timing": timings.get(item["op_name"])}
        for item in printed["operators"]
    }


@pytest.mark.parametrize("name", KERNELS)
def test_each_kernel_gets_its_verdict(judged: dict[str, dict[str, Any]], name: str) -> None:
    """Functions and classes are judged with fresh weights; only declared library calls are allowed."""
    _, verdict, reason = KERNELS[name]

    assert (verdict, reason) == (judged[name]["verdict"], judged[name]["reason"])


def test_only_correct_kernels_are_timed(judged: dict[str, dict[str, Any]]) -> None:
    """Modules are timed beside eager as operators are, every turn of both sides."""
    timed = {name: judged[name]["timing"] for name in KERNELS if judged[name]["timing"]}

    assert {name for name, (_, verdict, _) in KERNELS.items() if verdict == "correct"} == set(timed)
    assert all(len(item["candidate_s"]) == len(item["references_s"]["eager"]) for item in timed.values())


def test_coverage_leaves_out_what_is_declared(judged: dict[str, dict[str, Any]]) -> None:
    """One of four computing operators stays with the library, and with it most of the arithmetic."""
    coverage = judged["function"]["coverage"]

    assert 0.75 == coverage["operators"]
    assert 3 * 96 / (3 * 96 + 2 * 6 * 16 * 16) == pytest.approx(coverage["flops"])


@pytest.mark.parametrize("name", FAULTS)
def test_a_faulty_file_has_its_own_status(judged: dict[str, dict[str, Any]], name: str) -> None:
    """A file that raises, exits, draws or lacks an import is named, and the others go on."""
    _, reason = FAULTS[name]

    assert ("not_judged", reason) == (judged[name]["verdict"], judged[name]["reason"])
    assert "correct" == judged["function"]["verdict"]


def test_setup_writes_a_problem_that_tests_a_kernel(command: Command, tmp_path: Path) -> None:
    """The statement names the graph; the self-contained test tells what is wrong with a kernel."""
    import subprocess
    import sys

    (tmp_path / "one.py").write_text(GOOD)
    done = command(tmp_path, "setup", "--suite", "kernelbench", "--suite-file", "one.py", "-q")
    folder = tmp_path / "generated_kernels" / "one__module"

    assert 0 == done.returncode, done.stderr
    assert (
        "linear = aten.linear.default(x, linear_weight, linear_bias)" in (folder / "problem.md").read_text()
    )
    kernel = tmp_path / "kernel.py"
    kernel.write_text(KERNEL.replace("FAULT", " + 1") + FUNCTION)
    judged = subprocess.run(
        [sys.executable, str(folder / "test_one__module.py"), str(kernel)],
        env=command.environment(),
        check=False,
        capture_output=True,
        text=True,
    )
    assert (1, True) == (judged.returncode, judged.stdout.startswith("FAIL: result 0: values differ"))
