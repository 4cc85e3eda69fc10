"""The fuser on operators: one kernel where the inner generator has it, else the decomposition with kernels in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from kab_baseline.generator import BaselineGenerator
from kab_fuser.operator import OperatorComposition
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.hooks.protocols import Attempt, GenerationRequest
from kagent_bench.model.case import StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.model.case import Value

UNSEEN = """
import runpy, sys, torch
from torch.utils._python_dispatch import TorchDispatchMode

class Watch(TorchDispatchMode):
    seen = set()
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.add(str(func))
        return func(*args, **(kwargs or {}))

kernel = runpy.run_path(sys.argv[1])["glu__default_kernel_impl"]
for shape, dim in (((3, 10), -1), ((6, 5, 7), 0), ((1030, 4), 1)):
    x = torch.randn(shape)
    with Watch():
        made = kernel(x, dim)
    torch.testing.assert_close(made, torch.nn.functional.glu(x, dim))
print("sigmoid" in str(Watch.seen), "mul" in str(Watch.seen))
"""


def _composition(
    operator: str, *args: Value, shape: tuple[int, ...], folder: Path | None = None
) -> OperatorComposition:
    name = OperatorName.parse(operator)
    storage = StorageSpec(dtype="float32", numel=64, rule=UniformValues(low=-1, high=1))
    stride = (shape[1], 1)
    tensor = TensorSpec(storage=0, shape=shape, stride=stride)
    case = make_case(name, (tensor, *args), (), (storage,), dtype="float32", origin="direct")
    item = OperatorCases(operator=name, kind="value", cases=(case,))
    request = GenerationRequest(
        problem=build_problem(item, {"float32": 1e-5}),
        device="cpu",
        tolerance={"float32": 1e-5},
        judge=lambda source: Attempt(source=source, verdict="correct", feedback=""),
    )
    return OperatorComposition(
        request=request,
        inner=BaselineGenerator(),
        name="baseline",
        table={},
        whole=True,
        parts=True,
        folder=folder,
    )


def test_an_operator_of_finer_calls_computes_what_nobody_was_shown(tmp_path: Path) -> None:
    """A composition made from one call is right for other shapes and dimensions, with the library computing nothing."""
    result = _composition("glu", -1, shape=(4, 6), folder=tmp_path).run()
    assert result.source is not None, result.detail
    path = tmp_path / "composed_kernel.py"
    assert result.source == path.read_text()
    entries = json.loads((tmp_path / "subgraphs.json").read_text())
    assert [[["sigmoid"], [4, 3]], [["mul"], [4, 3]]] == [
        [[call["op"] for call in item["ops"]], item["output_shape"]] for item in entries
    ]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-c", UNSEEN, str(path)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "False False\n"), done.stderr


def test_an_operator_that_is_one_kernel_is_the_inner_generators() -> None:
    """What the inner generator has a kernel for is that kernel, and no composition."""
    composition = _composition("relu", shape=(4, 6))
    assert composition.run() == BaselineGenerator().generate(composition.request)


def test_an_operator_without_a_composition_is_declined_by_name() -> None:
    """The reason has what the inner generator says, and why PyTorch's decomposition is none."""
    result = _composition("logcumsumexp", 0, shape=(4, 6)).run()
    assert (result.source, result.reason) == (None, "unsupported")
    assert "no formula for logcumsumexp.default" in result.detail
    assert "PyTorch has no decomposition of logcumsumexp.default" in result.detail
    assert "has no call that computes" in _composition("cummax", 0, shape=(4, 6)).run().detail
