"""Recording a model's operator calls: the forms of targets, phases, dtypes, modules, and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from kagent_bench import pipeline
from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import Arguments, TracedTensor
from kagent_bench.suites.trace.open import file_suite
from kagent_bench.suites.trace.text_file import read_text
from kagent_bench.suites.tracing.portable import portable
from kagent_bench.suites.tracing.record import Recording, TraceOptions, record
from kagent_bench.suites.tracing.targets import Form, find_target

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width, twice=False):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(3))
        self.norm = torch.nn.LayerNorm(width)
        self.twice = twice

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.norm(x)

def get_inputs():
    return [torch.randn(2, 16)]

def get_init_inputs():
    return [[16], {"twice": True}]
"""
DECIDES = MODEL.replace("return self.norm(x)", "return self.norm(x) if x.sum() > -1 else x")
SCRIPT = """
import sys
import torch

assert sys.argv[1:] == ["--size", "5"], sys.argv
torch.ones(5, 5) @ torch.ones(5, 5)
"""


def _file(folder: Path, text: str, name: str = "model.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def _record(target: str, **options: Any) -> Recording:
    return record(TraceOptions(target=target, **options), lambda _: None)


def _counts(recording: Recording) -> dict[str, int]:
    counts: dict[str, int] = {}
    for call in recording.trace.calls:
        counts[str(call.operator)] = counts.get(str(call.operator), 0) + call.count
    return counts


def test_inference_on_tensors_without_memory(tmp_path: Path) -> None:
    """Calls are counted, once for equal ones, with the module that made them; views are left out and told."""
    recording = _record(_file(tmp_path, MODEL))

    assert "fake" == recording.execution
    assert {"addmm.default": 3, "native_layer_norm.default": 1, "relu.default": 3} == _counts(recording)
    (linear,) = (call for call in recording.trace.calls if str(call.operator) == "addmm.default")
    (source,) = linear.sources
    assert ("model/inference", 3, ("layers.*",)) == (source.model, source.count, source.modules)
    assert TracedTensor((16, 16), "float32", (1, 16)) == linear.arguments.args[2]
    assert 3 <= recording.left_out["views, allocations and questions of the host"]


def test_training_in_another_dtype(tmp_path: Path) -> None:
    """The backward is recorded too; parameters, inputs and buffers have the dtype."""
    recording = _record(_file(tmp_path, MODEL), training=True, as_dtype="bf16", name="mine")

    counts = _counts(recording)
    assert (3, 1) == (counts["threshold_backward.default"], counts["native_layer_norm_backward.default"])
    floats = {
        item.dtype
        for call in recording.trace.calls
        if "norm" not in str(call.operator)
        for item in call.arguments.tensors()
    }
    assert {"bfloat16"} == floats
    assert {"mine"} == {source.model for call in recording.trace.calls for source in call.sources}


def test_a_model_that_looks_at_values_runs_for_real(tmp_path: Path) -> None:
    """Only ``auto`` does that; ``fake`` says what was in the way."""
    target = _file(tmp_path, DECIDES)

    assert "real" == _record(target).execution
    with pytest.raises(UsageError, match="on fake tensors"):
        _record(target, execution="fake")


def test_functions_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that returns a model with arguments, and one that has run it."""
    functions = "def make():\n    return Model(16), {'x': torch.randn(4, 16)}\n\ndef run():\n    Model(8)(torch.randn(1, 8))\n"
    _file(tmp_path, MODEL + functions, "kab_traced_functions.py")
    monkeypatch.chdir(tmp_path)

    made, ran = (_record(f"kab_traced_functions:{name}") for name in ("make", "run"))

    assert 3 == _counts(made)["addmm.default"]
    assert 3 == _counts(ran)["addmm.default"]


def test_a_script_is_run_as_it_is(tmp_path: Path) -> None:
    """With its arguments, for real."""
    recording = _record(_file(tmp_path, SCRIPT, "script.py"), arguments=("--size", "5"))

    assert "real" == recording.execution
    assert 1 == _counts(recording)["mm.default"]


def test_what_is_written_is_a_suite(tmp_path: Path) -> None:
    """The file is read as the trace that was recorded, and every call makes a case."""
    path = tmp_path / "trace.txt.xz"

    recording = pipeline.trace(_file(tmp_path, MODEL), path, training=True)
    suite = file_suite([str(path)])

    assert recording.trace == read_text(path)
    assert len(recording.trace.calls) == sum(len(item.cases) for item in suite.operators(SuiteRequest()))
    assert 2 == len(suite.data_notes())  # which file, and what recorded it


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("nothing.py", {}, "no file nothing.py"),
        ("nothing", {}, "neither a Python file nor module:callable"),
        ("nothing_at_all:x", {}, "cannot import"),
        ("math:nothing", {}, "no function 'nothing'"),
        ("math:pi", {}, "no function 'pi'"),
        ("torch.nn:Identity", {}, "a model without arguments"),
        ("os:getcwd", {}, "called no operator"),
        ("os:getcwd", {"execution": "fast"}, "no execution called 'fast'"),
        ("os:getcwd", {"as_dtype": "fp8"}, "no dtype called 'fp8'"),
        ("os:getcwd", {"arguments": ("x",)}, "takes no arguments"),
        ("os:abort_", {}, "no function"),
        ("random:randrange", {}, "raised TypeError"),
    ],
)
def test_what_is_refused(target: str, options: dict[str, Any], words: str) -> None:
    """Each with what is wrong."""
    with pytest.raises(UsageError, match=words):
        _record(target, **options)


def test_only_our_words_are_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What an operator raises on fake tensors is told once, without the traceback that torch logs."""
    code = "import torch\nclass Model(torch.nn.Linear): ...\ndef get_inputs(): return [torch.ones(3, 5)]\n"
    path = _file(tmp_path, code + "def get_init_inputs(): return [2, 2]\n")

    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addHandler(caplog.handler)  # torch's loggers pass nothing on

    with pytest.raises(UsageError, match="raised RuntimeError on fake tensors"):
        _record(path, execution="fake")
    log.removeHandler(caplog.handler)

    assert [] == caplog.records
    assert not log.disabled


def test_a_script_has_its_own_dtype(tmp_path: Path) -> None:
    """What cannot be changed from outside is refused; a file that is no Python is, too."""
    script = _file(tmp_path, SCRIPT, "script.py")

    assert Form.SCRIPT is find_target(script).form
    with pytest.raises(UsageError, match="is a script"):
        _record(script, training=True)
    with pytest.raises(UsageError, match="no Python file"):
        _record(_file(tmp_path, "def (", "broken.py"))


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    """It is refused before the model runs."""
    path = tmp_path / "trace.txt"
    path.write_text("mine")

    with pytest.raises(UsageError, match="exists"):
        pipeline.trace("nothing.py", path)


def test_attention_of_a_backend_is_recorded_as_attention() -> None:
    """By the arguments that all of its forms share."""
    query = TracedTensor((1, 2, 8, 16), "float16")
    cpu = OperatorName.parse("_scaled_dot_product_flash_attention_for_cpu.default")
    gpu = OperatorName.parse("_scaled_dot_product_efficient_attention.default")
    expected = Arguments((query, query, query, query, 0.5, True), (("scale", 0.25),))

    from_cpu = portable(
        cpu, Arguments((query, query, query, 0.5, True), (("attn_mask", query), ("scale", 0.25)))
    )
    from_gpu = portable(gpu, Arguments((query, query, query, query, False, 0.5, True), (("scale", 0.25),)))

    assert from_cpu == from_gpu == (OperatorName.parse("scaled_dot_product_attention.default"), expected)


def test_groups_of_heads_are_asked_for() -> None:
    """A backend's attention takes fewer heads of keys than of queries; the portable one must be told."""
    query, key = TracedTensor((2, 8, 5, 4), "float32"), TracedTensor((2, 2, 5, 4), "float32")
    gpu = OperatorName.parse("_scaled_dot_product_flash_attention.default")

    _, arguments = portable(gpu, Arguments((query, key, key)))

    assert Arguments((query, key, key, None, 0.0, False), (("enable_gqa", True),)) == arguments
