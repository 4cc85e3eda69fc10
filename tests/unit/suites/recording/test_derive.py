"""Cases derived by rule."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any

import pytest
import torch

from kagent_bench.model.case import Case, TensorSpec
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.recording.derive import MAX_DERIVED, derive
from kagent_bench.suites.recording.rules.shapes import BLOCK_EDGES
from kagent_bench.suites.recording.specification import Arguments, specify
from kagent_bench.suites.recording.trial import attempt

ATEN = torch.ops.aten
MAX_ELEMENTS = 4096


def _derived(operator: Any, *args: Any, dtype: str = "float32", **kwargs: Any) -> list[Case]:
    name = OperatorName.parse(str(operator))
    arguments = specify(args, kwargs)
    case = make_case(name, arguments.args, arguments.kwargs, arguments.storages, dtype=dtype, origin="direct")
    return derive(operator, name, [case], dtype)


def _rules(cases: list[Case]) -> Counter[str]:
    return Counter(case.origin.removeprefix("derived:") for case in cases)


def _tensors(case: Case) -> list[TensorSpec]:
    values = [*case.args, *(value for _, value in case.kwargs)]
    return [value for value in values if isinstance(value, TensorSpec)]


def _random(*shape: int) -> torch.Tensor:
    return torch.empty(shape).uniform_(-3, 3, generator=torch.Generator().manual_seed(1))


SAMPLES = {
    "unary": (ATEN.relu.default, (_random(5, 3),)),
    "binary": (ATEN.add.Tensor, (_random(5, 3), _random(5, 3))),
    "in place": (ATEN.mul_.Tensor, (_random(5, 3), _random(3))),
    "integers": (ATEN.bitwise_and.Tensor, (torch.tensor([1, 2, 3]), torch.tensor([7, 1, 2]))),
    "reduction": (ATEN.sum.dim_IntList, (_random(5, 3), [1], True)),
    "softmax": (ATEN._softmax.default, (_random(5, 3), 1, False)),
    "product": (ATEN.mm.default, (_random(5, 3), _random(3, 4))),
    "sum of product": (ATEN.addmm.default, (_random(4), _random(5, 3), _random(3, 4))),
}


@pytest.mark.parametrize("sample", sorted(SAMPLES))
def test_derived_cases_are_accepted_small_and_different(sample: str) -> None:
    """Each case is its own, runs in eager, fits the interpreter, and its views lie in their storages."""
    operator, args = SAMPLES[sample]
    cases = _derived(operator, *args)
    assert 0 < len(cases) <= MAX_DERIVED
    assert len(cases) == len({case.id for case in cases})
    for case in cases:
        arguments = Arguments(args=case.args, kwargs=case.kwargs, storages=case.storages)
        assert attempt(operator, arguments, seed=7) is not None
        for tensor in _tensors(case):
            assert prod(tensor.shape) <= MAX_ELEMENTS or tensor.shape == (max(BLOCK_EDGES),)
            if 0 not in tensor.shape:
                reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride, strict=True))
                assert tensor.offset + reach < case.storages[tensor.storage].numel


def test_every_rule_of_a_class_has_its_share() -> None:
    """Rules come in turn, so that the limit cuts none off."""
    expected = {
        "aliased",
        "broadcast",
        "channels_last",
        "dimensions",
        "empty",
        "expanded",
        "mixed_dtypes",
        "offset",
        "scalars",
        "sizes",
        "special",
        "strided",
        "ties",
        "transposed",
        "zero_dim",
    }
    assert expected == set(_rules(_derived(ATEN.add.Tensor, _random(5, 3), _random(5, 3), alpha=2)))
    assert {"dims", "empty", "keepdim", "last", "layouts", "out_dtypes", "sizes", "special", "ties"} == set(
        _rules(_derived(ATEN.sum.dim_IntList, _random(5, 3), [1], keepdim=True))
    )
    assert {"addend", "empty", "ignored", "layouts", "scalars", "sizes", "special"} == set(
        _rules(_derived(ATEN.addmm.default, _random(4), _random(5, 3), _random(3, 4)))
    )


def test_reductions_vary_dimension_and_keepdim() -> None:
    """Negative dimensions, several, none, and both ways of keepdim."""
    cases = _derived(ATEN.sum.dim_IntList, _random(5, 3), [1], keepdim=True)
    assert {(-1,), (0, 2), None} <= {case.args[1] for case in cases}
    assert {True, False} == {dict(case.kwargs)["keepdim"] for case in cases}


def test_an_expanded_target_of_an_in_place_operator_is_refused() -> None:
    """What eager refuses is no case."""
    cases = _derived(ATEN.mul_.Tensor, _random(5, 3), _random(5, 3))
    assert not any(0 in _tensors(case)[0].stride for case in cases)


def test_operators_without_values_get_none() -> None:
    """Views and random operators are left as recorded."""
    assert [] == _derived(ATEN.view.default, _random(6), [2, 3])
    assert [] == _derived(ATEN.bernoulli.default, torch.full((5,), 0.3))


@pytest.mark.parametrize(
    ("operator", "calls"),
    [
        (ATEN.max_pool2d_with_indices.default, [(_random(1, 2, 8, 8), [2, 2])]),
        (ATEN.mse_loss.default, [(_random(5), _random(5), reduction) for reduction in (1, 0)]),
        (
            ATEN.max_pool2d_with_indices_backward.default,
            [
                (
                    _random(1, 1, 2, 2),
                    _random(1, 1, 4, 4),
                    [2, 2],
                    [2, 2],
                    [0, 0],
                    [1, 1],
                    False,
                    torch.tensor([0, 2, 8, 10]).view(1, 1, 2, 2),
                )
            ],
        ),
        (ATEN.col2im.default, [(_random(1, 4, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1])]),
        (ATEN.diagonal_copy.default, [(_random(4, 5),)]),
        (ATEN.take.default, [(_random(5), torch.tensor([0, 4]))]),
        (
            ATEN.nll_loss2d_forward.default,
            [(_random(1, 3, 2, 2), torch.zeros(1, 2, 2, dtype=torch.int64), None, 0, -100)],
        ),
        (ATEN.upsample_bilinear2d.default, [(_random(1, 1, 3, 3), [5, 5], False)]),
        (ATEN.arange.default, [(5,)]),
        (ATEN.mm.default, [(_random(3, 4), _random(4, 5))]),
    ],
    ids=lambda item: None if isinstance(item, list) else str(item),
)
def test_some_result_is_longer_than_a_block(operator: Any, calls: list[tuple[Any, ...]]) -> None:
    """Windows make few elements of many, and what they make fits them; a loss has as many only if it is not reduced."""
    name = OperatorName.parse(str(operator))
    recorded = [
        make_case(name, found.args, (), found.storages, dtype="float32", origin="direct")
        for found in (specify(call, {}) for call in calls)
    ]
    results = [
        attempt(operator, Arguments(args=case.args, kwargs=case.kwargs, storages=case.storages), seed=7)
        for case in derive(operator, name, recorded, "float32")
    ]
    assert 1024 < max(output.numel for result in results for output in result or ())
