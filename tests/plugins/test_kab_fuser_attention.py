"""Attention: found in its many forms, one region and one kernel, right where rows are masked as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kab_baseline.regions.attention import find_attention
from kab_fuser.lower import lower
from kab_fuser.partition import Partition, partition
from kagent_bench.evaluate.modules.problem_file import Recorded, read_problem
from kagent_bench.model.names import ModuleName
from tests.plugins.fuser_process import compose

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_DIFFERENCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 2e-1}
"""By dtype; PyTorch rounds scores and weights to it, the kernel does not round scores."""
FILE = """
import torch
import torch.nn.functional as F


class Model(torch.nn.Module):
    def forward(self, q, k, v, mask):
        BODY


def get_inputs():
    return [torch.randn(size, DTYPE) for size in SIZES] + [torch.rand(MASK, DTYPE)]


def get_init_inputs():
    return []
"""
LONG_ROWS = """q, k, v = (item.view(2, 21, 3, 8).transpose(1, 2) for item in (q, k, v))
        weights = F.softmax(q @ k.mT * mask, -1)
        return (weights @ v).transpose(1, 2).contiguous().view(2, 21, 24)"""
HEADS = "((2, 3, 21, 20), (2, 3, 70, 20), (2, 3, 70, 40))"
FORMS = {
    "first_tile_masked": (
        "torch.softmax((q @ k.t() + mask.log()).masked_fill(torch.arange(37) < 35, -torch.inf), -1) @ v",
        "((21, 20), (37, 20), (37, 16))",
        "(21, 37)",
    ),
    "batches": (
        "torch.bmm(torch.softmax(torch.bmm(q, k.mT) / 4 - mask, 2), v)",
        "((3, 20, 24), (3, 37, 24), (3, 37, 40))",
        "(3, 20, 37)",
    ),
    "masked_rows": (
        "F.dropout(F.softmax((q @ k.mT * 0.3).masked_fill(mask < 0.5, -torch.inf), -1), 0.1, False) @ v",
        HEADS,
        "(2, 1, 21, 1)",
    ),
    "long_rows": (LONG_ROWS, "((2, 21, 24),) * 3", "(21, 21)"),
    "sums": (
        'torch.einsum("bhts,bshd->bthd", torch.softmax(torch.einsum("bthd,bshd->bhts", q, k) * mask, -1), v)',
        "((2, 20, 3, 24), (2, 33, 3, 24), (2, 33, 3, 24))",
        "(20, 33)",
    ),
    "called": ("F.scaled_dot_product_attention(q, k, v)", HEADS, "(1,)"),
    "called_with_truth": (
        "F.scaled_dot_product_attention(q, k, v, (mask > 0.4).expand(21, 70), scale=0.1)",
        HEADS,
        "(21, 1)",
    ),
    "called_with_numbers": ("F.scaled_dot_product_attention(q, k, v, mask.log())", HEADS, "(2, 1, 21, 70)"),
    "causal_groups": (
        "F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)",
        "((2, 4, 21, 24), (2, 2, 33, 24), (2, 2, 33, 24))",
        "(1,)",
    ),
}
"""Name -> what is returned, the sizes of queries, keys and values, and that of the mask."""


def _text(form: tuple[str, str, str], dtype: str = "float32") -> str:
    body, sizes, mask = form
    returned = body if "return" in body else f"return {body}"
    text = FILE.replace("BODY", returned).replace("SIZES", sizes).replace("MASK", mask)
    return text.replace("DTYPE", f"dtype=torch.{dtype}")


def _cut(folder: Path, text: str, *, products: bool = True) -> Partition:
    path = folder / "problem.py"
    path.write_text(text)
    found = read_problem(path, ModuleName("problem"))
    assert isinstance(found, Recorded), found
    lowered = lower(found.module.program)
    return partition(lowered.program, lowered.origin, frozenset(), products=products)


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_one_region(tmp_path: Path, name: str) -> None:
    """Both products, the scores and the softmax between them are one kernel, which makes no copies."""
    cut = _cut(
        tmp_path, _text(FORMS[name]), products=name != "long_rows"
    )  # such is it where products are left
    (region,) = (item for item in cut.regions if item.is_attention)
    others = [node for item in cut.items if item is not region for node in getattr(item, "calls", [item])]

    assert 2 == sum(node.operator in {"aten.mm.default", "aten.bmm.default"} for node in region.calls)
    assert 1 == sum("is one region: saves" in text for text in cut.decisions)
    assert not any(node.operator == "aten.clone.default" for node in others)


@pytest.mark.timeout(300)  # a process that imports PyTorch's compiler and interprets kernels
def test_kernels_compute_what_pytorch_does(tmp_path: Path) -> None:
    """Tails, heads that are no power of two, and rows that are masked as a whole: NaN after a softmax, zeros after a call."""
    expected = {}
    for dtype, largest in LARGEST_DIFFERENCE.items():
        for name in FORMS if dtype == "float32" else ("batches", "masked_rows", "called_with_truth"):
            path = tmp_path / f"{name}_{dtype}.py"
            path.write_text(_text(FORMS[name], dtype))
            expected[path] = largest
    found = compose(tmp_path, expected, run=expected)

    assert {path.stem for path in expected} == set(found)
    for path, largest in expected.items():
        item = found[path.stem]
        assert item["difference"] <= largest, (path.stem, item)
        assert [] == item["eager"]


REFUSED = {
    "scores are used": "scores = q @ k.mT\n        return torch.softmax(scores, -1) @ v, scores",
    "weights are used": "weights = torch.softmax(q @ k.mT, -1)\n        return weights @ v, weights.sum(-1)",
    "queries compete": "return torch.softmax(q @ k.mT, -2) @ v",
    "weights are scaled": "return (torch.softmax(q @ k.mT, -1) * 2) @ v",
    "weights are on the right": "return v.mT @ torch.softmax(q @ k.mT, -1).mT",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_attention_is_cut_as_before(tmp_path: Path, name: str) -> None:
    """Scores or weights that leave, or a softmax over something else, are kernels of their own."""
    regions = _cut(tmp_path, _text((REFUSED[name], HEADS, "(1,)"))).regions

    assert not any(region.is_attention for region in regions)
    assert any(node.operator == "aten._softmax.default" for region in regions for node in region.calls)


def test_long_heads_are_refused(tmp_path: Path) -> None:
    """The reason stands among the decisions."""
    sizes = "((2, 4, 300), (2, 5, 300), (2, 5, 16))"
    cut = _cut(tmp_path, _text(("torch.softmax(q @ k.mT, -1) @ v", sizes, "(1,)")))

    assert any("is no region: heads of more than 256 elements" in text for text in cut.decisions)


def test_a_product_alone_is_no_attention(tmp_path: Path) -> None:
    """Only what has two products and a softmax is looked at."""
    (region,) = _cut(tmp_path, _text(("q @ k.mT", HEADS, "(1,)"))).regions

    assert find_attention(region.program) is None
