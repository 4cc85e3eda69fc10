"""What `kab list --check` says of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench import pipeline
from kagent_bench.evaluate.case_check.reasons import explain
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.selection import Selection
from kagent_bench.suites.trace.open import file_suite

if TYPE_CHECKING:
    from kagent_bench.evaluate.case_check.check import CaseCheck

BATCH_NORM = (
    "((T([3, 8, 4, 4], f16), T([3, 8, 4, 4], f16), T([8], f16), T([8], f16), T([8], f16), T([8], f32), T([8], f32),"
    " True, 1e-05, [True, True, True]), {})"
)
CALLS = {
    "relu.default": "((T([700, 1000], f32),), {})",
    "sigmoid.default": "((T([20, 1000], f32),), {})",
    "mm.default": "((T([40000, 512], f16), T([512, 512], f16)), {})",
    "_to_copy.default": "((T([4], f32),), {'dtype': f32})",
    "sum.default": "((T([0], f32),), {})",
    "any.default": "((T([4, 1000], b8),), {})",
    "slice_backward.default": "((T([4], f32), [1000], 0, 0, 4, 1), {})",
    "native_batch_norm_backward.default": BATCH_NORM,
    "_softmax_backward_data.default": "((T([4, 9], f32), T([4, 9], f32), 1, f16), {})",
    "_fft_c2c.default": "((T([4, 9], c32), [1], 0, True), {})",
    "mm.out": "((T([4, 4], f16), T([4, 4], f32)), {'out': T([4, 4], f32)})",
    "_cudnn_rnn_flatten_weight.default": "(([T([8, 3], f32), T([8, 2], f32)], 2, 3, 2, 2, 0, 1, False, False), {})",
    "max_pool2d_with_indices_backward.default": (
        "((T([2, 64, 700, 700], f16), T([2, 64, 1400, 1401], f16), [2, 2], [], [0, 0], [1, 1], False,"
        " T([2, 64, 700, 700], i64)), {})"
    ),
    "view.default": "((T([4], f32), [5]), {})",
    "bmm.default": "((T([8, 9000, 999], f16), T([8, 333, 777], f16)), {})",
    "addmv.default": "((T([9000], f32), T([9000, 9999], f32), T([777], f32)), {})",
    "native_batch_norm.default": (
        "((T([128, 128, 14, 14], f16), *, *, *, *, True, 0.1, 1e-05), {})".replace("*", "T([128], f16)")
    ),
    "new_ones.default": "((T([4], f16), [400000, 400000]), {})",
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CaseCheck]:
    """Check one case of each operator."""
    path = tmp_path_factory.mktemp("trace") / "model.txt"
    path.write_text("".join(f"Operator: aten.{name}\ncnt: 1, {call}\n" for name, call in CALLS.items()))
    operators = tuple(file_suite([str(path)]).operators(SuiteRequest()))
    found = pipeline.check_cases(Selection(suite="trace", suite_sha256="", operators=operators))
    return {name: check for (name, _), check in found.items()}


@pytest.mark.parametrize(
    ("name", "marks", "tried", "detail"),
    [
        ("relu.default", [], "reduced", ""),
        ("sigmoid.default", ["launch_bound"], "full", ""),
        ("mm.default", [], "reduced", ""),
        ("_to_copy.default", ["launch_bound"], "full", ""),
        ("sum.default", ["launch_bound", "weak"], "full", "passed by zeros"),
        ("any.default", ["launch_bound", "weak"], "full", "passed by ones"),
        (
            "native_batch_norm_backward.default",
            ["launch_bound", "no_kernel"],
            "widened",
            "no CPU kernel for this mixture of precisions, and one for GPUs; runs in float32",
        ),
        ("_softmax_backward_data.default", ["launch_bound", "no_kernel"], "widened", "runs in float32"),
        ("_fft_c2c.default", ["launch_bound", "no_kernel"], "widened", "no kernel for this dtype"),
        ("mm.out", ["launch_bound", "unrunnable"], "no", "dtype"),
        ("_cudnn_rnn_flatten_weight.default", ["launch_bound", "unrunnable"], "no", "needs a GPU"),
        ("max_pool2d_with_indices_backward.default", [], "reduced", ""),
        ("view.default", ["launch_bound", "unrunnable"], "no", "invalid for input of size 4"),
        ("bmm.default", ["unrunnable"], "no", "Expected size for first two dimensions"),
        ("addmv.default", ["unrunnable"], "no", "size mismatch"),
        ("native_batch_norm.default", [], "reduced", ""),
        ("new_ones.default", ["launch_bound", "untried"], "no", "too much memory"),
    ],
)
def test_marks(checks: dict[str, CaseCheck], name: str, marks: list[str], tried: str, detail: str) -> None:
    """By what eager PyTorch makes of the values, and by size; large cases are tried smaller."""
    found = checks[name]

    assert marks == [str(mark) for mark in found.marks]
    assert tried == found.tried
    assert detail in found.detail


def test_reasons_keep_torchs_own_words() -> None:
    """What needs an expert is explained; anything else is passed on."""
    assert "the operator is one of cuDNN or MIOpen, and needs a GPU" in explain(
        "Could not run 'aten::_cudnn_rnn' with arguments from the 'CPU' backend. ..."
    )
    assert "shape mismatch" == explain("shape mismatch\nsecond line")
