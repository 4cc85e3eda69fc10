"""Pooling as a reduction over windows: PyTorch's own values and indices, for every padding, stride and rounding."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from kab_fuser.pooling import WINDOWS

aten = torch.ops.aten
MAX = [((gap, gap), up) for gap in (1, 2) for up in (False, True)]
MEAN = [(up, border, divisor) for up in (False, True) for border in (True, False) for divisor in (None, 3)]


@pytest.mark.parametrize(
    ("operator", "rest", "n_calls"),
    [
        (aten.max_pool2d.default, MAX, 144),
        (aten.max_pool2d_with_indices.default, MAX, 144),
        (aten.avg_pool2d.default, MEAN, 288),
    ],
)
def test_windows_give_what_pooling_does(operator: Any, rest: list[Any], n_calls: int) -> None:
    """Every call that PyTorch takes has its shape and values."""
    source = torch.randn(2, 3, 7, 10)
    strides, paddings = ((), (2, 2), (1, 3), (4, 3)), ((0, 0), (1, 1), (1, 0))
    compared = 0
    for kernel, stride, padding, more in product(((2, 2), (3, 2), (3, 5)), strides, paddings, rest):
        try:
            expected = operator(source, kernel, stride, padding, *more)
        except RuntimeError:  # a padding or span that is too large
            continue
        torch.testing.assert_close(WINDOWS[operator](source, kernel, stride, padding, *more), expected)
        compared += 1

    assert n_calls == compared
