"""The fuser: modules are cut legally and completely, composed exactly and repeatably, and judged end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch

from kab_fuser import reductions
from kab_fuser.lower import Undecomposed, lower
from kab_fuser.merge import Merged, NotMergeable
from kab_fuser.partition import partition
from kab_fuser.signature import signature_of
from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.modules.problem_file import Recorded, read_problem
from kagent_bench.model.names import ModuleName
from tests.plugins.fuser_process import compose

if TYPE_CHECKING:
    from kab_fuser.partition import Partition

PROBLEMS = Path(__file__).with_name("fuser_problems")
RUN = ("conv_bn_relu", "moe_gate", "running_average")
"""Problems that every run composes and compares: a product with what follows, a call that stays, a written buffer.
All of them are run by ``tests/benchmarks/fuser.py``."""
ODD = Path(__file__).with_name("fuser_odd_problems")
LARGEST_DIFFERENCE = 1e-4
RUN_EACH = "import runpy, sys\nfor path in sys.argv[1:]:\n    runpy.run_path(path, run_name='__main__')"
"""Runs files one after the other, each as a script."""


def _cut(name: str) -> Partition:
    found = read_problem(PROBLEMS / f"{name}.py", ModuleName(name))
    assert isinstance(found, Recorded), found
    lowered = lower(found.module.program)
    return partition(lowered.program, lowered.origin, frozenset())


@pytest.fixture(scope="module")
def composed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Compose every problem, and run some."""
    problems = sorted(PROBLEMS.glob("*.py"))
    return compose(
        tmp_path_factory.mktemp("composed"), problems, run=[PROBLEMS / f"{name}.py" for name in RUN]
    )


@pytest.mark.timeout(300)  # a process that imports PyTorch's compiler and interprets kernels
def test_composed_modules_compute_what_the_modules_do(composed: dict[str, dict[str, Any]]) -> None:
    """Composed files agree with PyTorch in the interpreter."""
    found = {name: item for name, item in composed.items() if "difference" in item}

    assert set(RUN) == set(found)
    for item in found.values():
        assert item["difference"] <= LARGEST_DIFFERENCE, item
        assert [] == item["eager"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_what_is_written_does_not_depend_on_the_hash_seed(
    composed: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    """The composed file and the public Fuser's file of every problem are the same bytes in another process."""
    problems = sorted(PROBLEMS.glob("*.py"))
    again = compose(tmp_path, problems, run=[], hash_seed="2")

    assert [path.stem for path in problems] == list(composed) == list(again)
    assert {name: item["sha256"] for name, item in composed.items()} == {
        name: item["sha256"] for name, item in again.items()
    }


@pytest.mark.timeout(300)
def test_modules_of_odd_forms_are_composed(tmp_path: Path) -> None:
    """Sequences as arguments, indices of pooling, tied weights, written views, complex numbers, truth values; the file's own test runs, too."""
    problems = sorted(ODD.glob("*.py"))
    found = compose(tmp_path, problems, run=problems)
    files = [str(tmp_path / name / "composed_kernel.py") for name in found]
    done = subprocess.run(
        [sys.executable, "-c", RUN_EACH, *files],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert {path.stem for path in problems} == set(found)
    for name, item in found.items():
        assert item["difference"] <= LARGEST_DIFFERENCE, (name, item)
        assert [] == item["eager"]
    assert ["largest difference"] * len(files) == [
        line.partition(":")[0] for line in done.stdout.splitlines()
    ], done.stderr[-2000:]


def test_an_epilogue_joins_its_product() -> None:
    """Bias, normalisation and activation after a convolution are one kernel with it."""
    operators = [[node.operator for node in region.calls] for region in _cut("conv_bn_relu").regions]
    (product,) = (calls for calls in operators if "aten.convolution.default" in calls)

    assert "aten.relu.default" == product[-1]
    assert 2 == len(operators)  # the other one is the scale of each channel


@pytest.mark.parametrize("name", ["gru_step", "lstm_cell"])
def test_the_gates_of_a_cell_are_one_kernel(name: str) -> None:
    """What PyTorch's own cells do in place is computed without, by one kernel beside the two products."""
    regions = _cut(name).regions

    assert 3 == len(regions)
    assert {"sigmoid", "tanh", "mul"} <= {node.operator.split(".")[1] for node in regions[-1].calls}


CHUNKS = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, y, scale):
        made = (x * scale + y).sigmoid()
        first, second = made.chunk(2, -1)
        other = torch.exp(x - y)
        return first * torch.tanh(second) + other[:, 1:4] * other[:, :3]


def get_inputs():
    return [torch.randn(5, 6), torch.randn(6), torch.tensor(0.7)]


def get_init_inputs():
    return []
"""


def test_parts_are_taken_before_they_are_computed(tmp_path: Path) -> None:
    """Chunks and slices after pointwise calls end no region: all is one kernel, with the same values."""
    (tmp_path / "chunks.py").write_text(CHUNKS)
    found = read_problem(tmp_path / "chunks.py", ModuleName("chunks"))
    assert isinstance(found, Recorded), found
    lowered = lower(found.module.program)
    regions = partition(lowered.program, lowered.origin, frozenset()).regions
    given = [torch.randn(5, 6), torch.randn(6), torch.tensor(0.7)]
    expected, got = (ProgramRun(program)(*given) for program in (found.module.program, lowered.program))

    assert 1 == len(regions)
    assert bool(torch.equal(expected, got[0]))


def test_two_uses_of_one_reduction_stay_together() -> None:
    """A group normalisation that is used twice is computed once, in one kernel."""
    assert 1 == len(_cut("group_norm_swish").regions)


def test_equal_regions_have_one_signature() -> None:
    """Two vectors of one shape are normalised by one kernel, whatever their names are."""
    signatures = [signature_of(region.program).name for region in _cut("cosine_similarity_loss").regions]
    again = [signature_of(region.program).name for region in _cut("cosine_similarity_loss").regions]

    assert signatures == again
    assert len(set(signatures)) < len(signatures)  # the scales of both vectors


WINDOWS = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        pooled = torch.nn.functional.max_pool2d(x, 3, 2, padding=1, dilation=2)
        return pooled, torch.nn.functional.avg_pool2d(x, 2)


def get_inputs():
    return [torch.randn(2, 3, 9, 9)]


def get_init_inputs():
    return []
"""


def test_windows_are_right_however_the_input_lies(tmp_path: Path) -> None:
    """What a library call returns may have other strides on another device than when the module was cut."""
    (tmp_path / "windows.py").write_text(WINDOWS)
    found = read_problem(tmp_path / "windows.py", ModuleName("windows"))
    assert isinstance(found, Recorded), found
    x = torch.randn(2, 3, 9, 9).to(memory_format=torch.channels_last)
    expected = ProgramRun(found.module.program)(x)
    got = ProgramRun(lower(found.module.program).program)(x)

    for ours, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


LONG_ROWS = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        means = x.mean((0, 2)), (x * x).mean((1, 2), keepdim=True), x.half().mean(), y.mean(1, keepdim=True)
        return x.sum(), y.sum(0), torch.linalg.vector_norm(x), x.amax(), x.amin((1, 2), keepdim=True), *means


def get_inputs():
    return [torch.randn(4, 6, 50), torch.randn(300, 3)]


def get_init_inputs():
    return []
"""


def test_long_reductions_take_two_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is reduced, all, leading or trailing dimensions: no step is long, and the values are the module's."""
    limits = reductions.Limits(long=64, few=256, piece=8)
    monkeypatch.setattr(reductions, "ALONG", limits)
    monkeypatch.setattr(reductions, "ACROSS", limits)
    monkeypatch.setattr(reductions, "SHORTEST", 8)
    (tmp_path / "long.py").write_text(LONG_ROWS)
    found = read_problem(tmp_path / "long.py", ModuleName("long"))
    assert isinstance(found, Recorded), found
    lowered = lower(found.module.program).program
    given = [torch.randn(4, 6, 50), torch.randn(300, 3)]
    expected, got = (ProgramRun(program)(*given) for program in (found.module.program, lowered))
    facts = lowered.facts()
    for node in lowered.nodes:
        if node.operator.split(".")[1] in {"sum", "mean", "amax", "amin"}:
            before, after = facts[next(iter(node.refs()))], node.results[0]
            assert before is not None
            assert after is not None
            assert before.numel // after.numel < limits.long, node

    torch.testing.assert_close(got, expected)


SOLVED = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        whole = x @ x.mT + torch.eye(4)
        return torch.linalg.solve(whole, x).relu(), torch.linalg.inv_ex(whole).inverse * 2


def get_inputs():
    return [torch.randn(2, 4, 4)]


def get_init_inputs():
    return []
"""


def test_a_call_without_finer_ones_stays_whole(tmp_path: Path) -> None:
    """PyTorch refuses to trace what checks a result for errors; the calls around it become finer all the same."""
    (tmp_path / "solved.py").write_text(SOLVED)
    found = read_problem(tmp_path / "solved.py", ModuleName("solved"))
    assert isinstance(found, Recorded), found
    program = found.module.program
    with pytest.raises(Undecomposed) as caught:
        lower(program)
    lowered = lower(program, frozenset(["linalg_solve", "linalg_inv_ex"])).program
    given = torch.randn(2, 4, 4)

    assert "linalg_solve" == caught.value.call
    assert "aten.bmm.default" in {node.operator for node in lowered.nodes}
    torch.testing.assert_close(tuple(ProgramRun(lowered)(given)), tuple(ProgramRun(program)(given)))


FIRST = """
import torch
SIZE = 4
def helper(x):
    return x + SIZE
def kernel_function(x, SIZE=SIZE):
    return helper(x) * SIZE
"""


def test_merged_files_keep_their_meaning() -> None:
    """Equal helpers are shared, unequal ones renamed, and parameters of the same name left alone."""
    merged = Merged()
    merged.add(FIRST, "kernel_function", "one", "one")
    merged.add(FIRST.replace("SIZE = 4", "SIZE = 5"), "kernel_function", "two", "two")
    merged.add(FIRST, "kernel_function", "three", "three")
    namespace: dict[str, Any] = {}
    exec("\n".join(merged.imports) + "\n" + merged.text(), namespace)  # noqa: S102 - the merged file is to be run

    assert (20, 30, 20) == (namespace["one"](1), namespace["two"](1), namespace["three"](1))
    assert 2 == merged.text().count("def helper")


def test_a_file_that_acts_on_import_cannot_be_merged() -> None:
    """A statement that is no definition is refused, with its line."""
    with pytest.raises(NotMergeable, match="line 2"):
        Merged().add(
            "import torch\nprint(1)\ndef kernel_function(x):\n    return x\n", "kernel_function", "a", "a"
        )


def test_modules_are_lowered_in_several_threads() -> None:
    """PyTorch's tracer patches its modules, so threads take turns, and each gets the same finer calls as alone."""
    found = read_problem(PROBLEMS / "rms_norm_rotary.py", ModuleName("rms_norm_rotary"))
    assert isinstance(found, Recorded), found
    program = found.module.program
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: lower(program).program, range(8)))

    assert [lower(program).program] * len(made) == made
