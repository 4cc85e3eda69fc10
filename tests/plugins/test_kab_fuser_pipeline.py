"""The fuser's pipeline around another generator: what that cannot do stays with the library, and is declared."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kab_baseline.generator import BaselineGenerator
from kab_fuser.options import FuserOptions
from kab_fuser.pipeline import Pipeline
from kab_fuser.region_store import RegionStore
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.evaluate.modules.problem_file import Recorded, read_problem
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult
from kagent_bench.model.names import ModuleName
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from collections.abc import Callable

PROBLEM = Path(__file__).with_name("fuser_problems") / "pooling_head.py"
FIRST = "first try"
SCHEMA = {"id", "type", "data_layout", "dtype", "ops", "output_shape", "weights_fused", "weights_original"}


class _Selective:
    """Never solves a region with a softmax, and the others at its second try."""

    version = "1"

    def generate(self, request: GenerationRequest) -> GenerationResult:
        module = request.problem.module
        assert module is not None
        if any("_softmax" in node.operator for node in module.program.nodes):
            return GenerationResult(source=None, reason="gave_up", detail="no idea")
        request.judge(FIRST)
        return BaselineGenerator().generate(request)


def test_a_region_that_is_never_solved_stays_with_the_library(tmp_path: Path) -> None:
    """It is declared and called as the module calls it; the rest is composed, and every try is counted."""
    found = read_problem(PROBLEM, ModuleName("pooling_head"))
    assert isinstance(found, Recorded)
    judged: list[str] = []

    def judge_part(part: OperatorCases) -> Callable[[str], Attempt]:
        def judge(source: str) -> Attempt:
            judged.append(str(part.operator))
            return Attempt(source=source, verdict="incorrect" if source == FIRST else "correct", feedback="")

        return judge

    item = OperatorCases(operator=found.module.name, kind="module", cases=(found.case,), module=found.module)
    pipeline = Pipeline(
        request=GenerationRequest(
            problem=build_problem(item, {"float32": 1e-5}),
            device="cpu",
            tolerance={"float32": 1e-5},
            judge=lambda source: Attempt(source=source, verdict="correct", feedback=""),
            judge_part=judge_part,
        ),
        options=FuserOptions(inner="selective", route="regions"),
        inner=_Selective(),
        table={},
        store=RegionStore(folder=tmp_path / "store", scope="test"),
        folder=tmp_path / "stages",
        lock_of=lambda _: threading.Lock(),
    )
    result = pipeline.run()
    entries = json.loads((tmp_path / "stages" / "subgraphs.json").read_text())

    assert result.source is not None
    assert 'EAGER = ("log_softmax",)' in result.source
    assert "torch.ops.aten.log_softmax.int(" in result.source
    assert 1 == result.details["eager_calls"]
    assert 2 * len(set(judged)) == len(judged) == result.details["region_attempts"]
    assert "selective: no idea" in (tmp_path / "stages" / "explain.txt").read_text()
    assert set(entries[0]) >= SCHEMA | {"count", "where", "source"}
