"""How large the terms are that cancel in an output element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.magnitude import accumulated
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of

if TYPE_CHECKING:
    from kagent_bench.model.case import Case
    from tests.unit.evaluate.oracle.conftest import CaseWriter


def magnitude(case: Case, *storages: torch.Tensor) -> torch.Tensor:
    """Return m of the first output for given values."""
    operator = overload(case.operator)
    exact = reference.run(operator, case, storages, wide=True)
    return accumulated(operator, case, semantics_of(case.operator), storages, exact, 0)


def tensor(*values: float) -> torch.Tensor:
    """Return a float32 tensor."""
    return torch.tensor(values)


def test_of_a_sum_it_is_the_sum_of_the_absolute_values(write: CaseWriter) -> None:
    """Per row: a row without large terms gets no room from one that has them."""
    case = write.case("sum.dim_IntList", write.tensor(2, 3), (1,))
    found = magnitude(case, tensor(1000.0, -1000.0, 0.5, 1.0, 2.0, 3.0))
    assert [2000.5, 6.0] == found.tolist()


def test_of_a_product_it_is_the_product_of_the_absolute_values(write: CaseWriter) -> None:
    """|A| @ |B|, element by element."""
    case = write.case("mm.default", write.tensor(2, 2), write.tensor(2, 1))
    found = magnitude(case, tensor(3.0, -4.0, 0.0, 1.0), tensor(2.0, 1.5))
    assert [[12.0], [1.5]] == found.tolist()


def test_a_negative_factor_takes_nothing_away(write: CaseWriter) -> None:
    """|beta| |bias| + |alpha| |A| @ |B|: the terms cancel in the result, not in their size."""
    case = write.case(
        "addmm.default", write.tensor(1, 1), write.tensor(1, 1), write.tensor(1, 1), beta=-2, alpha=3
    )
    assert [[12.0]] == magnitude(case, tensor(3.0), tensor(2.0), tensor(1.0)).tolist()


def test_of_a_softmax_it_grows_with_the_distance_from_the_maximum(write: CaseWriter) -> None:
    """Rounding x - max(x) moves a far element by that distance, for every element of every row."""
    case = write.case("_softmax.default", write.tensor(16, 2), -1, False)  # noqa: FBT003 - as the schema has it
    found = magnitude(case, tensor(*[32.0, -32.0] * 16))[:, 1] / torch.tensor(-64.0).double().exp()
    assert bool((found > 32.0).all() & (found <= 1.25 * 64.0).all()), found


def test_integers_that_cancel_are_summed_by_size(write: CaseWriter) -> None:
    """Whole numbers may be added up in floating point, where they are no places but values."""
    case = write.case("cumsum.default", write.tensor(3, dtype="int64"), 0)
    assert [5.0, 9.0, 10.0] == magnitude(case, torch.tensor([5, -4, 1])).tolist()


def test_of_a_derivative_it_grows_with_the_gradient(write: CaseWriter) -> None:
    """What is lost inside the function is multiplied by the gradient; nothing is lost where that is zero."""
    case = write.case("gelu_backward.default", write.tensor(2), write.tensor(2))
    large, none = magnitude(case, tensor(1000.0, 0.0), tensor(-0.75, -0.75)).tolist()
    assert (large > 1000.0, 0.0) == (True, none)


def test_of_a_range_it_is_the_larger_end(write: CaseWriter) -> None:
    """Each number is worked out from the start, and near zero still rounded to its size."""
    assert magnitude(write.case("linspace.default", -8, 4.0, 1031)).max().item() == pytest.approx(8.0)


def test_of_an_interpolation_it_grows_with_the_coordinates(write: CaseWriter) -> None:
    """A place far from the first is rounded by more, and so are the weights of its neighbours."""
    sides, ones = (4, 400), (torch.ones(8), torch.ones(800))
    cases = [
        write.case("upsample_bilinear2d.default", write.tensor(1, 1, 2, side), (2, side), False)  # noqa: FBT003
        for side in sides
    ]
    near, far = (magnitude(case, *ones).max().item() for case in cases)
    assert far > 10 * near > 0


@pytest.mark.parametrize("operator", ["upsample_bilinear2d", "upsample_bicubic2d"])
def test_of_an_interpolation_it_does_not_depend_on_how_its_size_is_given(
    write: CaseWriter, operator: str
) -> None:
    """A factor for each side means the size that comes of it."""
    source, given = write.tensor(1, 1, 2, 4), (((2, 6), False, None), (None, False, (1.0, 1.5)))
    by_size, by_factor = (
        magnitude(write.case(f"{operator}.vec", source, *each), torch.arange(8.0)) for each in given
    )
    assert by_size.min() > 0
    assert by_size.tolist() == by_factor.tolist()


@pytest.mark.parametrize("operator", ["logsumexp.default", "logcumsumexp.default"])
def test_a_logarithm_of_a_sum_near_one_has_room_of_the_size_of_one(write: CaseWriter, operator: str) -> None:
    """log(1 + exp(-9)) is worked out as the logarithm of a number of order one."""
    dim = (0,) if operator == "logsumexp.default" else 0
    found = magnitude(write.case(operator, write.tensor(2), dim), tensor(0.0, -9.0))
    assert found.max().item() == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(("operator", "sign"), [("add.Tensor", 1), ("sub.Tensor", -1)])
def test_of_an_addition_it_is_that_of_both_terms(write: CaseWriter, operator: str, sign: int) -> None:
    """Where the terms cancel, m keeps their size; where they are small, it is small."""
    case = write.case(operator, write.tensor(2), write.tensor(2))
    found = magnitude(case, tensor(1000.0, 0.5), tensor(-sign * 1000.0, sign * 0.25))
    assert pytest.approx([2000.0, 0.75], rel=1e-4) == found.tolist()


def test_of_a_multiplication_it_is_the_result(write: CaseWriter) -> None:
    """Nothing cancels: twice the result, and nothing where it is zero."""
    case = write.case("mul.Tensor", write.tensor(3), write.tensor(3))
    found = magnitude(case, tensor(3.0, 0.0, 1e-3), tensor(5.0, 7.0, 1e-3))
    assert pytest.approx([30.0, 0.0, 2e-6], rel=1e-4) == found.tolist()


@pytest.mark.parametrize("operator", ["floor.default", "ceil.default", "trunc.default", "sign.default"])
def test_a_step_function_gets_no_room(write: CaseWriter, operator: str) -> None:
    """At a whole number a step lies on one side only, so that floor(3.0) = 2.0 is wrong."""
    case = write.case(operator, write.tensor(4))
    assert [0.0] * 4 == magnitude(case, tensor(3.0, -2.0, 0.0, 1.5)).tolist()


def test_of_a_relu_it_is_the_input_where_it_passes(write: CaseWriter) -> None:
    """A dropped element has no terms."""
    case = write.case("relu.default", write.tensor(2))
    assert pytest.approx([3.0, 0.0], rel=1e-4) == magnitude(case, tensor(3.0, -3.0)).tolist()


def test_functions_computed_through_values_of_order_one(write: CaseWriter) -> None:
    """A sine near a multiple of pi is computed from values of order one."""
    case = write.case("sin.default", write.tensor(1))
    assert 1.0 <= float(magnitude(case, tensor(0.0))) < 1.1


def test_special_values_leave_it_finite(write: CaseWriter) -> None:
    """An infinity among the terms must not make everything right."""
    case = write.case("add.Tensor", write.tensor(3), write.tensor(3))
    nan, inf = float("nan"), float("inf")
    found = magnitude(case, tensor(inf, nan, 1.0), tensor(1.0, 1.0, 1.0))
    assert pytest.approx([0.0, 0.0, 2.0], rel=1e-4) == found.tolist()


def test_it_has_the_shape_of_its_output(write: CaseWriter) -> None:
    """Every output of several has its own."""
    case = write.case("max.dim", write.tensor(4, 5), 1)
    operator: Any = overload(case.operator)
    values = torch.linspace(-1, 1, 20)
    exact = reference.run(operator, case, [values], wide=True)
    found = accumulated(operator, case, semantics_of(case.operator), [values], exact, 0)
    assert (torch.Size([4]), torch.float64) == (found.shape, found.dtype)
