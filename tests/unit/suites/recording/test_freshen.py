"""Which recorded values may be replaced by fresh ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kagent_bench.model.case import UniformValues
from kagent_bench.suites.recording.freshen import freshen, pooled_ranges
from kagent_bench.suites.recording.specification import specify
from kagent_bench.suites.recording.structure import is_structured

ATEN = torch.ops.aten


def _fresh(operator: Any, *args: Any, **kwargs: Any) -> list[bool]:
    """Tell for each storage whether its values became fresh."""
    arguments = specify(args, kwargs)
    found = freshen(operator, arguments, pooled_ranges([(arguments, "direct")]))
    assert found is not None
    return [isinstance(storage.rule, UniformValues) for storage in found.storages]


def _random(*shape: int) -> torch.Tensor:
    return torch.empty(shape).uniform_(-3, 3, generator=torch.Generator().manual_seed(1))


def test_plain_values_become_fresh_in_their_own_range() -> None:
    """The range stays inside that of the sample."""
    tensor = _random(40)
    arguments = specify((tensor,), {})
    found = freshen(ATEN.relu.default, arguments, {})
    assert found is not None
    rule = found.storages[0].rule
    assert isinstance(rule, UniformValues)
    assert float(tensor.min()) <= rule.low < rule.high <= float(tensor.max())


@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([1.0, float("nan"), 2.5, 0.1]),
        torch.tensor([1.0, -0.0, 2.5, 0.1]),
        torch.ones(5),
        torch.tensor([1, 2, 3, 7]),
        torch.tensor([True, False]),
    ],
)
def test_special_constant_and_exact_values_stay(tensor: torch.Tensor) -> None:
    """What a sample says by its values is kept."""
    assert [False] == _fresh(
        ATEN.relu.default if tensor.dtype != torch.bool else ATEN.logical_not.default, tensor
    )


def test_gaps_between_the_elements_of_a_view_do_not_count() -> None:
    """NaN that no view looks at does not make a storage special."""
    storage = torch.full((40,), float("nan"))
    storage[::2] = _random(20)
    assert [True] == _fresh(ATEN.relu.default, storage[::2])


def test_a_matrix_with_a_property_stays() -> None:
    """A Cholesky factorisation needs its positive definite matrix; the sorted boundaries stay too."""
    matrix = _random(4, 4)
    assert [False] == _fresh(ATEN.linalg_cholesky_ex.default, matrix @ matrix.T + torch.eye(4))
    assert [True, False] == _fresh(ATEN.bucketize.Tensor, _random(30), torch.tensor([-2.5, -1.1, 0.2, 1.7]))


def test_an_error_code_that_fresh_values_raise_keeps_the_sample() -> None:
    """A factorisation that would report failure is no fair case."""
    lopsided = torch.tensor([[2.0, 0.1], [0.3, 2.0]])
    assert [False] == _fresh(ATEN.linalg_cholesky_ex.default, lopsided)


def test_a_call_that_fails_as_recorded_is_no_case() -> None:
    """None says so."""
    assert freshen(ATEN.mm.default, specify((torch.ones(2, 3), torch.ones(2, 3)), {}), {}) is None


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (_random(4, 5), False),
        (torch.softmax(_random(4, 5), 1), True),
        (torch.log_softmax(_random(4, 5), 0), True),
        (_random(4, 4).tril(), True),
        (_random(4, 4) + _random(4, 4).T, True),
        (torch.linalg.qr(_random(4, 4))[0], True),
        (_random(3, 6).sort().values, True),
        (_random(30).round(), True),
        (torch.nn.functional.dropout(_random(30), 0.5), True),
    ],
)
def test_structure(tensor: torch.Tensor, *, expected: bool) -> None:
    """Probabilities, triangular, symmetric, orthogonal, sorted, whole and sparse values are recognised."""
    arguments = specify((tensor,), {})
    (item,) = arguments.tensors()
    assert expected == is_structured(item.tensor, arguments.storages[0])
