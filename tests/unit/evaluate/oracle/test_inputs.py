"""Input values: secret, repeatable, and of several distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.oracle.inputs import (
    DEFAULT_INTEGER_BOUND,
    FEW_SPECIALS,
    INTEGER_BOUND,
    ROUNDS,
    draw,
    generator,
    rounds_of,
)
from kagent_bench.evaluate.oracle.semantics import Semantics, semantics_of
from kagent_bench.model.case import Case, IntegerValues, LiteralValues, StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from tests.unit.evaluate.oracle.conftest import CaseWriter

SEED = b"one secret"
ADD = semantics_of(OperatorName.parse("add.Tensor"))
SUM = semantics_of(OperatorName.parse("sum.dim_IntList"))


def values(
    case: Case, name: str = "as_given", seed: bytes = SEED, semantics: Semantics = ADD
) -> tuple[torch.Tensor, ...]:
    """Draw the storages of a case for a round."""
    return draw(case, semantics, name, generator(seed, case.id, ROUNDS.index(name)))


def same(left: tuple[torch.Tensor, ...], right: tuple[torch.Tensor, ...]) -> bool:
    """Return whether two draws have the same bits."""
    return all(
        torch.equal(one.view(torch.uint8), other.view(torch.uint8))
        for one, other in zip(left, right, strict=True)
    )


@given(seed=st.binary(min_size=1, max_size=40), name=st.sampled_from(ROUNDS))
def test_the_same_secret_gives_the_same_values(seed: bytes, name: str) -> None:
    """Resume and replay see what the first run saw; another secret, case or round gives other values."""
    first, second = (generator(seed, case, ROUNDS.index(name)) for case in ("a" * 12, "a" * 12))
    assert torch.equal(torch.rand(8, generator=first), torch.rand(8, generator=second))
    others = (
        generator(seed + b"x", "a" * 12, ROUNDS.index(name)),
        generator(seed, "b" * 12, ROUNDS.index(name)),
        generator(seed, "a" * 12, ROUNDS.index(name) + 1),
    )
    numbers = torch.rand(8, generator=generator(seed, "a" * 12, ROUNDS.index(name)))
    for other in others:
        assert not torch.equal(numbers, torch.rand(8, generator=other))


def test_rounds_differ(write: CaseWriter) -> None:
    """No round repeats another one, so that a stored answer is wrong in the next."""
    case = write.case("add.Tensor", write.tensor(50), write.tensor(50))
    drawn = [values(case, name) for name in ROUNDS]
    assert 1 == sum(same(drawn[0], other) for other in drawn)
    assert all(same(values(case, name), again) for name, again in zip(ROUNDS, drawn, strict=True))


def test_the_two_arguments_of_a_call_differ(write: CaseWriter) -> None:
    """A kernel that mixes up its arguments shows."""
    case = write.case("sub.Tensor", write.tensor(50), write.tensor(50))
    left, right = values(case)
    assert not torch.equal(left, right)


def test_literal_values_are_kept(write: CaseWriter) -> None:
    """Indices and special values are what was recorded, bit for bit."""
    literal = torch.tensor([float("nan"), float("inf"), -0.0, 1.5])
    case = write.case("relu.default", write.literal(literal))
    assert same((literal,), values(case))
    assert same((literal,), values(case, "wide"))


def test_literal_integers_are_shuffled_where_place_does_not_matter(write: CaseWriter) -> None:
    """An elementwise operator gets the recorded integers in another order; another operator as recorded."""
    literal = torch.arange(100)
    case = write.case("add.Tensor", write.literal(literal), write.literal(literal))
    shuffled, _ = values(case, "wide")
    assert not torch.equal(literal, shuffled)
    assert torch.equal(literal, shuffled.sort().values)
    assert torch.equal(literal, values(case, "wide", semantics=SUM)[0])


def test_empty_literals_are_empty_tensors(write: CaseWriter) -> None:
    """No bytes are no elements, of the right dtype."""
    case = write.case("relu.default", write.literal(torch.empty(0, dtype=torch.float16)))
    (drawn,) = values(case)
    assert (0, torch.float16) == (drawn.numel(), drawn.dtype)


def integers(name: str, dtype: str, low: int, high: int) -> Case:
    """Return a case of an operator on one tensor of integers."""
    storage = StorageSpec(dtype=dtype, numel=64, rule=IntegerValues(low=low, high=high))
    tensor = TensorSpec(storage=0, shape=(64,), stride=(1,))
    return make_case(OperatorName.parse(name), (tensor, 1), (), (storage,), dtype=dtype, origin="direct")


@given(low=st.integers(-200, 100), width=st.integers(0, 300), name=st.sampled_from(ROUNDS))
def test_integers_stay_in_their_bounds(low: int, width: int, name: str) -> None:
    """A count, as an index, is all that the recorded range allows."""
    case = integers("bitwise_left_shift.Tensor_Scalar", "int64", low, low + width)
    (drawn,) = values(case, name, semantics=semantics_of(case.operator))
    assert low <= int(drawn.min())
    assert int(drawn.max()) <= low + width


@pytest.mark.parametrize(("dtype", "bound"), [("int64", 3037000499), ("int32", 46340), ("int8", 11)])
def test_integers_to_compute_with_are_also_large(dtype: str, bound: int) -> None:
    """One round has integers whose products just fit, so that narrower arithmetic shows."""
    case = integers("mul.Tensor", dtype, -9, 9)
    (as_given,), (wide,) = values(case), values(case, "wide")
    assert 9 >= int(as_given.abs().max())
    assert bound // 2 < int(wide.abs().max()) <= bound


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
def test_the_recorded_range_is_kept(write: CaseWriter, dtype: str) -> None:
    """The first round draws from the range of the sample, in its dtype, nothing outside."""
    tensor = write.tensor(500, dtype=dtype, rule=UniformValues(low=2.0, high=3.0))
    (drawn,) = values(write.case("log.default", tensor))
    assert getattr(torch, dtype) is drawn.dtype
    parts = torch.view_as_real(drawn) if drawn.is_complex() else drawn
    assert bool(((parts >= 2) & (parts <= 3)).all())
    assert 100 < len(set(parts.flatten().tolist())) or dtype == "bfloat16"


def test_the_wide_round_spans_decades(write: CaseWriter) -> None:
    """Both signs, small and large magnitudes."""
    (drawn,) = values(write.case("relu.default", write.tensor(2000)), "wide")
    assert drawn.abs().min() < 1e-2
    assert 10 < drawn.abs().max() <= 100
    assert 500 < int((drawn < 0).sum()) < 1500


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_integers_round_is_whole_and_bounded(write: CaseWriter, dtype: torch.dtype) -> None:
    """Half precision gets numbers whose products are exact; float32 gets more bits than a shortcut keeps."""
    tensor = write.tensor(2000, dtype=str(dtype).removeprefix("torch."))
    (drawn,) = values(write.case("relu.default", tensor), "integers")
    bound = INTEGER_BOUND.get(dtype, DEFAULT_INTEGER_BOUND)
    assert torch.equal(drawn, drawn.round())
    assert bound // 2 < float(drawn.abs().max()) <= bound


def test_equal_numbers_meet_where_it_is_looked_for(write: CaseWriter) -> None:
    """Two tensors of many numbers are different everywhere, on which a comparison in the wrong place is right."""
    case = write.case("eq.Tensor", write.tensor(1000), write.tensor(1000))
    left, right = values(case, "integers", semantics=semantics_of(OperatorName.parse("eq.Tensor")))
    assert 100 < int((left == right).sum()) < 400


def test_special_values_are_strewn_densely_over_elementwise_inputs(write: CaseWriter) -> None:
    """NaN, both infinities and signed zeros appear among nominal values."""
    (drawn,) = values(write.case("relu.default", write.tensor(1000)), "special")
    assert drawn.isnan().any()
    assert {float("inf"), float("-inf")} <= set(drawn[drawn.isinf()].tolist())
    assert 60 < int((~drawn.isfinite()).sum()) < 200
    assert bool((torch.signbit(drawn) & (drawn == 0)).any())


def test_few_special_values_where_one_reaches_a_whole_row(write: CaseWriter) -> None:
    """A reduction gets at most two, so that most of its outputs still say something."""
    case = write.case("sum.dim_IntList", write.tensor(1000), (0,))
    (drawn,) = values(case, "special", semantics=SUM)
    assert int((~drawn.isfinite()).sum()) <= FEW_SPECIALS


def test_the_late_round_turns_wide_after_the_first_half(write: CaseWriter) -> None:
    """A kernel that looks at a prefix sees nominal values."""
    tensor = write.tensor(2000, rule=UniformValues(low=1.0, high=2.0))
    (drawn,) = values(write.case("relu.default", tensor), "late_wide")
    assert bool(((drawn[:1000] >= 1) & (drawn[:1000] <= 2)).all())
    assert bool((drawn[1000:] < 0).any())


def test_a_case_of_literals_has_few_rounds(write: CaseWriter) -> None:
    """What cannot be drawn afresh is judged once, or twice where it can be shuffled."""
    case = write.case("add.Tensor", write.literal(torch.arange(3)), 1)
    assert ROUNDS[:2] == rounds_of(case, ADD, 5)
    assert ROUNDS[:1] == rounds_of(case, SUM, 5)
    assert LiteralValues is type(case.storages[0].rule)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("add.Tensor", ROUNDS),
        ("gelu.default", ROUNDS),
        ("sum.dim_IntList", ROUNDS),
        ("_softmax.default", ROUNDS),
        ("convolution.default", ("as_given", "wide", "integers", "late_wide")),
        ("linalg_det.default", ROUNDS[:1]),
        ("bucketize.Tensor", ROUNDS[:1]),
    ],
)
def test_each_operator_gets_the_rounds_that_mean_something_to_it(
    write: CaseWriter, operator: str, expected: tuple[str, ...]
) -> None:
    """Values outside the recorded range are not held against ill-conditioned operators."""
    name = OperatorName.parse(operator)
    case = write.case(operator, write.tensor(4, 4))
    assert expected == rounds_of(case, semantics_of(name), len(ROUNDS))
    assert expected[:2] == rounds_of(case, semantics_of(name), 2)
