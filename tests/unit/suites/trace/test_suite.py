"""Traces as a suite: which calls become cases, what their values are, and what is told of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.oracle import inputs
from kagent_bench.evaluate.oracle.reference import run
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import decode_case, encode_case
from kagent_bench.model.selection import Selection
from kagent_bench.suites.trace.export import export
from kagent_bench.suites.trace.open import file_suite

if TYPE_CHECKING:
    from kagent_bench.model.case import Case
    from kagent_bench.suites.trace.suite import TraceSuite

CALLS = {
    "_softmax_backward_data.default": "((T([4, 6], f16), T([4, 6], f16), -1, f16), {})",
    "native_layer_norm_backward.default": (
        "((T([5, 7, 8], f32), T([5, 7, 8], f32), [8], T([5, 7, 1], f32), T([5, 7, 1], f32), T([8], f32), T([8], f32),"
        " [True, True, True]), {})"
    ),
    "native_group_norm_backward.default": (
        "((T([2, 4, 3, 3], f32), T([2, 4, 3, 3], f32), T([2, 2], f32), T([2, 2], f32), T([4], f32), 2, 4, 9, 2,"
        " [True, True, True]), {})"
    ),
    "native_batch_norm_backward.default": (
        "((T([2, 4, 3, 3], f16), T([2, 4, 3, 3], f16), T([4], f32), T([4], f32), T([4], f32), T([4], f32),"
        " T([4], f32), True, 1e-05, [True, True, True]), {})"
    ),
    "native_batch_norm.default": (
        "((T([2, 4, 3, 3], f32), T([4], f32), T([4], f32), T([4], f32), T([4], f32), False, 0.1, 1e-05), {})"
    ),
    "max_pool2d_with_indices_backward.default": (
        "((T([2, 3, 4, 4], f32), T([2, 3, 8, 8], f32), [2, 2], [2, 2], [0, 0], [1, 1], False,"
        " T([2, 3, 4, 4], i64)), {})"
    ),
    "nll_loss_backward.default": (
        "((T([], f32), T([6, 10], f32), T([6], i64), None, 1, -100, T([], f32)), {})"
    ),
    "embedding.default": "((T([50, 8], f32), T([3, 7], i64), 0), {})",
    "embedding_dense_backward.default": "((T([3, 7, 8], f32), T([3, 7], i64), 50, 0, False), {})",
    "gather.default": "((T([4, 9], f32), 1, T([4, 3], i64)), {})",
    "scatter.src": "((T([4, 9], f32), -1, T([4, 3], i64), T([4, 3], f32)), {})",
    "index.Tensor": "((T([4, 9], f32), [None, T([5], i64)]), {})",
    "index_put.default": "((T([40, 3], f32), [T([40], b8)], T([13, 3], f32)), {})",
    "index_put_.default": "((T([40, 3], f32), [T([13], i64)], T([13, 3], f32), False), {})",
    "_embedding_bag.default": "((T([30, 4], f32), T([20], i64), T([6], i64), False, 0, True, T([20], f32)), {})",
    "sum.SymInt": "((T([4, 5], f32), [1], True), {})",
    "upsample_nearest2d_backward.vec": "((T([1, 2, 8, 8], f32), None, [1, 2, 4, 4], [2.0, 2.0]), {})",
    "im2col_backward.default": "((T([1, 8, 9], f32), [4, 4], [2, 2], [1, 1], [0, 0], [1, 1]), {})",
    "linalg_cholesky_ex.default": "((T([3, 5, 5], f32),), {})",
    "bucketize.Tensor": "((T([9], f32), T([5], f32)), {})",
    "floor_divide.default": "((T([9], i64), T([9], i64)), {})",
    "binary_cross_entropy.default": "((T([9], f32), T([9], f32)), {})",
    "_pack_padded_sequence.default": "((T([7, 3, 4], f32), T([3], i64), False), {})",
    "repeat_interleave.Tensor": "((T([5], i64),), {'output_size': 12})",
    "as_strided_.default": "((T([4], f32), [3, 2], [1, 3]), {})",
    "new_zeros.default": "((T([4], f16), [2, 3]), {'dtype': f32, 'device': 'cuda', 'pin_memory': False})",
    "rsqrt.default": "((T([200], f16),), {})",
    "pow.Tensor_Tensor": "((T([9], f32), T([9], f32)), {})",
}
"""One call of every sort that plain random numbers would break."""


def _suite(folder: Path, *lines: str) -> TraceSuite:
    path = folder / "model.txt"
    path.write_text("\n".join(lines) + "\n")
    return file_suite([str(path)])


def _case(folder: Path, name: str) -> Case:
    (item,) = _suite(folder, f"Operator: aten.{name}", f"cnt: 3, {CALLS[name]}").operators(SuiteRequest())
    (case,) = item.cases
    return case


def _drawn(case: Case, seed: int) -> tuple[torch.Tensor, ...]:
    source = torch.Generator().manual_seed(seed)
    return inputs.draw(case, semantics_of(case.operator), inputs.ROUNDS[0], source)


@pytest.mark.parametrize("name", CALLS)
def test_every_call_runs_on_its_values(tmp_path: Path, name: str) -> None:
    """Eager PyTorch takes what is drawn, whatever the seed, and answers with finite numbers."""
    case = _case(tmp_path, name)

    assert case == decode_case(encode_case(case))
    for seed in range(3):
        outcome = run(overload(case.operator), case, _drawn(case, seed))
        floats = [leaf for leaf in outcome.leaves if leaf.is_floating_point()]
        assert all(bool(torch.isfinite(leaf).all()) for leaf in floats)


def test_saved_statistics_are_those_of_the_forward(tmp_path: Path) -> None:
    """The mean and the deviation that a layer norm saved are of the input that the backward gets."""
    _, source, mean, deviation, *_ = _drawn(_case(tmp_path, "native_layer_norm_backward.default"), 0)
    rows = source.view(35, 8)

    torch.testing.assert_close(mean, rows.mean(1))
    torch.testing.assert_close(deviation, 1 / torch.sqrt(rows.var(1, correction=0) + 1e-5))


def test_probabilities_add_up(tmp_path: Path) -> None:
    """The saved output of a softmax is one, rounded to the case's own dtype."""
    _, output = _drawn(_case(tmp_path, "_softmax_backward_data.default"), 0)

    assert torch.float16 == output.dtype
    torch.testing.assert_close(output.view(4, 6).float().sum(1), torch.ones(4), atol=2e-3, rtol=0)


def test_places_differ_where_the_last_one_would_win(tmp_path: Path) -> None:
    """Writing twice to one place has no right answer."""
    _, places, _ = _drawn(_case(tmp_path, "index_put_.default"), 0)

    assert 13 == len(set(places.tolist()))


def test_what_makes_no_case_is_told(tmp_path: Path) -> None:
    """Unknown operators and arguments, sparse tensors and unreadable lines are counted, with the reason."""
    suite = _suite(
        tmp_path,
        "Operator: aten.relu.default",
        "cnt: 1, ((T([4], f32),), {})",
        "cnt: 1, ((T([4], f99),), {})",
        "cnt: 1, ((T([4], f32), 1, 2), {})",
        "cnt: 1, ((ST([4], f32, torch.sparse_coo, True, 2),), {})",
        "Operator: aten.relu.nope",
        "cnt: 1, ((1,), {})",
    )

    (item,) = suite.operators(SuiteRequest())
    about, unread, *others = suite.data_notes()

    assert ["relu.default"] == [str(name) for name in suite.operator_names()]
    assert 1 == len(item.cases)
    assert about.startswith(f"data: {tmp_path}/model.txt, sha256 ")
    assert unread.startswith("1 lines could not be read: ")
    assert "model.txt:3:11: unknown dtype 'f99'" in unread
    assert (f"{tmp_path}/model.txt:3:11: unknown dtype 'f99'",) == suite.unread_lines()
    assert {
        "1 calls of relu.default make no case: 3 arguments, the operator has 1",
        "1 calls of relu.default make no case: argument 'self' is a sparse_coo tensor",
        "1 calls of relu.nope make no case: the installed torch has no such operator",
    } == set(others)


def test_one_case_however_its_call_is_written(tmp_path: Path) -> None:
    """Strides that say nothing and dtypes in quotes make no other case; calls add up and the most frequent is first."""
    (item,) = _suite(
        tmp_path,
        "Operator: aten._to_copy.default",
        "cnt: 4, ((T([5], f16),), {'dtype': f32})",
        "cnt: 2, ((T([4, 1], f16),), {'dtype': f32, 'device': device(type='cuda', index=1)})",
        "cnt: 3, ((T([4, 1], f16, stride=(1, 1)),), {'dtype': 'torch.float32', 'device': \"torch.device('xpu:0')\"})",
    ).operators(SuiteRequest())

    assert [5, 4] == [case.count for case in item.cases]


def test_devices_that_there_are_not(tmp_path: Path) -> None:
    """A call on one is no case, and is counted."""
    suite = _suite(
        tmp_path, "Operator: aten._to_copy.default", "cnt: 1, ((T([5], f16),), {'device': 'gpu:0'})"
    )

    assert () == tuple(suite.operators(SuiteRequest()))
    assert "1 calls of _to_copy.default make no case: unknown device 'gpu:0'" in suite.data_notes()


def test_attention_without_dropout_is_judged_by_value(tmp_path: Path) -> None:
    """An operator is random only where its probability is above zero."""
    tensor = "T([1, 2, 8, 16], f32)"
    head = "Operator: aten._scaled_dot_product_flash_attention_for_cpu.default"
    (sure,) = _suite(tmp_path, head, f"cnt: 1, (({tensor}, {tensor}, {tensor}), {{}})").operators(
        SuiteRequest()
    )
    (chance,) = _suite(tmp_path, head, f"cnt: 1, (({tensor}, {tensor}, {tensor}, 0.1), {{}})").operators(
        SuiteRequest()
    )

    assert ("value", "random") == (sure.kind, chance.kind)


def test_the_content_is_in_the_hash(tmp_path: Path) -> None:
    """Another count is another suite; the same text is the same."""
    one = _suite(tmp_path, "Operator: aten.relu.default", "cnt: 1, ((T([4], f32),), {})").content_sha256()
    two = _suite(tmp_path, "Operator: aten.relu.default", "cnt: 2, ((T([4], f32),), {})").content_sha256()
    again = _suite(tmp_path, "Operator: aten.relu.default", "cnt: 1, ((T([4], f32),), {})").content_sha256()

    assert one == again
    assert one != two


def test_exported_cases_come_back_as_the_same(tmp_path: Path) -> None:
    """Every case that a trace makes is written and read back with its identity, its count and its models."""
    lines = [line for name, call in CALLS.items() for line in (f"Operator: aten.{name}", f"cnt: 3, {call}")]
    operators = tuple(_suite(tmp_path, *lines).operators(SuiteRequest()))

    n_calls = export(Selection(suite="trace", suite_sha256="", operators=operators), tmp_path / "out.txt.xz")
    again = tuple(file_suite([str(tmp_path / "out.txt.xz")]).operators(SuiteRequest()))

    assert len(CALLS) == n_calls
    assert operators == again
