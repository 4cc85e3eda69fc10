"""The fuser's pipeline around another generator: what that cannot do stays with the library, and is declared."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kab_baseline.generator import BaselineGenerator
from kab_fuser.generator import Fuser
from kab_fuser.options import FuserOptions
from kab_fuser.pipeline import Pipeline
from kab_fuser.region_store import RegionStore
from kab_fuser.session import COMPOSITIONS
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.errors import ExitCode, UsageError
from kagent_bench.evaluate.modules.problem_file import Recorded, read_problem
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult
from kagent_bench.model.names import ModuleName
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.hooks.protocols import Generator

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


def _pipeline(folder: Path, request: GenerationRequest, options: FuserOptions, inner: Generator) -> Pipeline:
    return Pipeline(
        request=request,
        options=options,
        inner=inner,
        table={},
        store=RegionStore(folder=folder / "store", scope="test"),
        folder=folder / "stages",
        lock_of=lambda _: threading.Lock(),
    )


def _compose(
    folder: Path,
    name: str,
    speed: Callable[[str], float],
    *,
    keep_slow: bool = False,
    wrong: Callable[[str], bool] = lambda _: False,
) -> GenerationResult:
    """Compose a problem of the tests for a GPU on which kernels are as fast, and as wrong, as is said."""
    found = read_problem(PROBLEM.with_name(f"{name}.py"), ModuleName(name))
    assert isinstance(found, Recorded)
    item = OperatorCases(operator=found.module.name, kind="module", cases=(found.case,), module=found.module)

    def judge(source: str) -> Attempt:
        if wrong(source):
            return Attempt(source=source, verdict="incorrect", feedback="failed(values)")
        return Attempt(source=source, verdict="correct", feedback="", speedup=speed(source))

    request = GenerationRequest(
        problem=build_problem(item, {"float32": 1e-5}),
        device="cuda",
        tolerance={"float32": 1e-5},
        judge=judge,
        judge_part=lambda _: judge,
        max_attempts=COMPOSITIONS,
    )
    options = FuserOptions(route="regions", keep_slow=keep_slow)
    return _pipeline(folder, request, options, BaselineGenerator()).run()


def test_products_stay_with_the_library_of_a_gpu(tmp_path: Path) -> None:
    """The library does the convolution without its bias, which joins what follows."""
    source = _compose(tmp_path, "conv_transpose_scale", lambda _: 2.0).source or ""

    assert 'EAGER = ("conv_transpose2d",)' in source
    assert "torch.ops.aten.convolution.default(x, conv_weight, None, [2, 2]" in source
    assert "region_1_add_mul_sigmoid(convolution, view, scale)" in source


@pytest.mark.parametrize("keep_slow", [False, True])
def test_a_region_that_the_library_beats_stays_with_it(tmp_path: Path, *, keep_slow: bool) -> None:
    """It is declared with the measured speed, unless slow kernels are to be kept."""
    result = _compose(
        tmp_path, "pooling_head", lambda source: 0.5 if "mean" in source else 2.0, keep_slow=keep_slow
    )
    explained = (tmp_path / "stages" / "explain.txt").read_text()

    assert keep_slow != ('EAGER = ("adaptive_avg_pool2d", "linear")' in (result.source or ""))
    assert keep_slow != ("its kernel has 0.50 of the library's speed" in explained)


def test_a_slow_composition_leaves_to_the_library_what_is_one_kernel_there(tmp_path: Path) -> None:
    """The finer calls of a normalisation are slower than our kernel, the library's own kernel is not."""

    def speed(source: str) -> float:
        return (
            0.7 if "def reference" in source and "var_mean" in source.partition("def reference")[0] else 1.2
        )

    result = _compose(tmp_path, "group_norm_swish", speed)

    assert 'EAGER = ("group_norm", "group_norm_1")' in (result.source or "")
    assert "1.20 of eager's speed, not 0.70" in str(result.details["reason"])


def test_a_slow_composition_leaves_to_the_library_what_is_a_little_slower_there(tmp_path: Path) -> None:
    """Regions that lose less than noise each are all kept at first; together they may lose more."""

    def speed(source: str) -> float:
        whole = "def reference" in source
        slow = "embedding__default_kernel_impl" in source
        return (0.8 if slow else 1.1) if whole else 0.97 if slow else 2.0

    result = _compose(tmp_path, "embedding_bag", speed)

    assert 'EAGER = ("embedding", "linear")' in (result.source or "")
    assert "embedding stay with the library: 1.10 of eager's speed, not 0.80" in str(result.details["reason"])


@pytest.mark.parametrize("helps", [True, False])
def test_a_wrong_composition_leaves_to_the_library_what_was_decomposed(
    tmp_path: Path, *, helps: bool
) -> None:
    """All parts are right and the whole is not: the decomposition may be at fault, and is left out if that mends it."""

    def wrong(source: str) -> bool:
        return "def reference" in source and (not helps or "EAGER = ()" in source)

    result = _compose(tmp_path, "group_norm_swish", lambda _: 2.0, wrong=wrong, keep_slow=True)

    assert helps == ('EAGER = ("group_norm", "group_norm_1")' in (result.source or ""))
    assert helps == ("stay with the library: incorrect" in str(result.details["reason"]))


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_an_attention_that_the_library_beats_is_cut_like_all_else(tmp_path: Path, speed: float) -> None:
    """Its products go to the library, while mask and softmax between them stay one kernel."""
    result = _compose(
        tmp_path, "attention_mask", lambda source: speed if "attention_kernel" in source else 2.0
    )
    source, explained = result.source or "", (tmp_path / "stages" / "explain.txt").read_text()
    is_slow = speed < 1

    assert is_slow != ("attention_kernel" in source)
    assert is_slow == ('"matmul"' in source)
    assert is_slow == ("is no region: its kernel has 0.50 of the library's speed" in explained)
    assert is_slow == ("softmax_kernel" in source)


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
    request = GenerationRequest(
        problem=build_problem(item, {"float32": 1e-5}),
        device="cpu",
        tolerance={"float32": 1e-5},
        judge=lambda source: Attempt(source=source, verdict="correct", feedback=""),
        judge_part=judge_part,
    )
    options = FuserOptions(inner="selective", route="regions")
    result = _pipeline(tmp_path, request, options, _Selective()).run()
    entries = json.loads((tmp_path / "stages" / "subgraphs.json").read_text())

    assert result.source is not None
    assert 'EAGER = ("log_softmax",)' in result.source
    assert "torch.ops.aten.log_softmax.int(" in result.source
    assert 1 == result.details["eager_calls"]
    assert 2 * len(set(judged)) == len(judged) == result.details["region_attempts"]
    assert "selective: no idea" in (tmp_path / "stages" / "explain.txt").read_text()
    assert set(entries[0]) >= SCHEMA | {"count", "where", "source"}


def test_the_public_fuser_is_asked_for_in_vain_where_it_cannot_be_imported(tmp_path: Path) -> None:
    """The error is two lines: what cannot be imported, and how to have it; the command ends with 2 for it."""
    with pytest.raises(UsageError, match="cannot be imported: ModuleNotFoundError") as caught:
        Fuser().check({"agent": "upstream", "upstream_path": str(tmp_path)})

    assert ExitCode.USAGE == caught.value.exit_code
    assert "--upstream-path DIR" in (caught.value.hint or "")
