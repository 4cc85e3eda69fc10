"""What can be judged of an operator."""

from __future__ import annotations

import pytest
import torch

from kagent_bench.suites.recording.kinds import operator_kind


@pytest.mark.parametrize(
    ("name", "overload", "expected"),
    [
        ("add", "Tensor", "value"),
        ("add_", "Tensor", "value"),
        ("zeros", "default", "value"),
        ("empty_like", "default", "metadata"),
        ("bernoulli", "default", "random"),
        ("normal_", "default", "random"),
        ("view", "default", "view"),
        ("transpose", "int", "view"),
        ("unsqueeze_", "default", "view"),
        ("split", "Tensor", "view"),
        ("nonzero", "default", "data_dependent"),
        ("_local_scalar_dense", "default", "data_dependent"),
    ],
)
def test_kind(name: str, overload: str, expected: str) -> None:
    """Random, uninitialised, view and data-dependent operators have a class of their own."""
    assert expected == operator_kind(getattr(getattr(torch.ops.aten, name), overload))
