"""Judging a case from beginning to end, with a function of this process as the kernel."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import torch

from kagent_bench.evaluate.oracle.case_judge import CaseJudge
from kagent_bench.evaluate.oracle.inputs import ROUNDS
from kagent_bench.evaluate.oracle.rounds import REPEAT
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.model.case import Case, UniformValues
from kagent_bench.model.verdict import CaseStatus
from tests.unit.evaluate.oracle.conftest import add

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from tests.unit.evaluate.oracle.conftest import CaseWriter, Judge


@pytest.mark.parametrize(("limit", "of"), [(34, "35 elements of inputs"), (35, ""), (0, "")])
def test_the_interpreter_is_not_tried_on_what_takes_minutes(
    oracle_settings: OracleSettings, adding: Case, limit: int, of: str
) -> None:
    """A case of more elements is skipped with the number; nothing is made smaller."""
    bounded = replace(oracle_settings, interpreter_elements=limit)
    judged = CaseJudge(adding, "value", overload(adding.operator), semantics_of(adding.operator), bounded)

    finding = judged.open()

    assert (None if not of else CaseStatus.SKIPPED) == (finding and finding.status)
    assert finding is None or of in finding.detail


# --- right ------------------------------------------------------------------------------------------------------


def test_a_right_kernel_passes_every_round(judge: Judge, adding: Case) -> None:
    """All distributions and the repeated first one are judged; nothing is dropped."""
    judged = judge(adding, add)
    assert None is judged.finding, judged.detail
    assert [*ROUNDS, REPEAT] == judged.rounds
    assert (6, [], True, True) == (
        judged.tally.rounds,
        judged.tally.dropped,
        judged.tally.deterministic,
        judged.tally.backendbench_passed,
    )
    assert set() == judged.tally.survivors
    assert 1.9073486328125e-06 == judged.tally.tolerance
    assert judged.tally.max_abs_error is not None
    assert 0 < judged.tally.max_abs_error < 1e-4


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "complex64", "int64", "uint8", "bool"])
def test_every_dtype_can_be_judged(judge: Judge, write: CaseWriter, dtype: str) -> None:
    """The operator itself is right in each of them."""
    operator = "logical_or.default" if dtype == "bool" else "mul.Tensor"
    case = write.case(operator, write.tensor(33, dtype=dtype), write.tensor(33, dtype=dtype))
    judged = judge(case, overload(case.operator))
    assert None is judged.finding, judged.detail


_HONEST: dict[str, Callable[[CaseWriter], Case]] = {
    "strided": lambda write: write.case("relu.default", write.tensor(5, 7, stride=(1, 5), offset=3)),
    "0-d": lambda write: write.case("relu.default", write.tensor()),
    "expanded": lambda write: write.case("exp.default", write.tensor(4, 3, stride=(0, 1))),
    "in place": lambda write: write.case("relu_.default", write.tensor(20)),
    "in place, strided": lambda write: write.case("mul_.Tensor", write.tensor(4, 3, stride=(1, 9)), 2.0),
    "out": lambda write: write.case("add.out", write.tensor(9), write.tensor(9), out=write.tensor(9)),
    "view": lambda write: write.case("t.default", write.tensor(3, 4)),
    "several outputs": lambda write: write.case("max.dim", write.tensor(9, 8), 1),
    "a list": lambda write: write.case("cat.default", (write.tensor(2, 3), write.tensor(1, 3)), 0),
    "outputs in a list": lambda write: write.case("split.Tensor", write.tensor(7), 3),
    "one tensor twice": lambda write: write.case("mul.Tensor", *[write.tensor(9)] * 2),
    "indices": lambda write: write.case("index_select.default", write.literal(torch.rand(5, 3)), 0, write.literal(torch.tensor([4, 0]))),
    "softmax": lambda write: write.case("_softmax.default", write.tensor(4, 65), -1, 0),
    "product": lambda write: write.case("mm.default", write.tensor(17, 33), write.tensor(33, 9)),
    "sum": lambda write: write.case("sum.dim_IntList", write.tensor(3, 999), (1,)),
}  # fmt: skip


@pytest.mark.parametrize("kind", _HONEST)
def test_what_torch_does_is_right(judge: Judge, write: CaseWriter, kind: str) -> None:
    """Eager's own output passes for every kind of call."""
    case = _HONEST[kind](write)
    judged = judge(case, overload(case.operator), kind="view" if kind == "view" else "value")
    assert None is judged.finding, judged.detail


def test_a_kernel_better_than_eager_passes(judge: Judge, write: CaseWriter) -> None:
    """The float64 result rounded once is right where eager accumulates errors."""
    case = write.case("sum.dim_IntList", write.tensor(3, 999, dtype="float16"), (1,))
    judged = judge(case, lambda self, dim: self.double().sum(dim).half())
    assert None is judged.finding, judged.detail


# --- wrong ------------------------------------------------------------------------------------------------------


def _write_before(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    result = self + other
    _bytes_around(self)[0] ^= 1
    return result


def _bytes_around(tensor: torch.Tensor) -> Any:
    """Return the memory that starts a little before a tensor."""
    return (ctypes.c_uint8 * 64).from_address(tensor.data_ptr() - 64)


def _zero_inputs(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    self.zero_()
    other.zero_()
    return torch.zeros(6, 5)


def _one_nan(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    result = self + other
    result[3, 2] = float("nan")
    return result


class _Sneaky(torch.Tensor):
    """A tensor that could answer comparisons as it likes."""


def _with_attribute(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    result = self + other
    result.note = "hello"  # type: ignore[attr-defined]
    return result


_WRONG: dict[str, tuple[Callable[..., Any], str, str]] = {
    "zeros": (lambda self, _other: torch.zeros_like(self), "values", "elements wrong; worst at ["),
    "one element": (lambda self, other: (self + other).index_put_((torch.tensor(0),), torch.ones(5)), "values", "got 1.0"),
    "the input": (lambda self, _other: self, "aliasing", "memory of its own"),
    "NaN": (lambda self, _other: torch.full_like(self, float("nan")), "nan", "30 of 30"),
    "one NaN": (_one_nan, "nan", "worst at [3, 2]: got nan"),
    "dtype": (lambda self, other: (self + other).double(), "dtype", "has dtype float64, expected float32"),
    "shape": (lambda self, other: (self + other).flatten(), "shape", "has shape [30], expected [6, 5]"),
    "one element only": (lambda _self, _other: torch.zeros(1), "shape", "has shape [1], expected [6, 5]"),
    "device": (lambda self, other: (self + other).to("meta"), "device", "is on meta, expected cpu"),
    "None": (lambda _self, _other: None, "arity", "returned None, expected a tensor"),
    "a list": (lambda self, other: [self + other], "arity", "returned (a tensor), expected a tensor"),
    "a number": (lambda _self, _other: 3.0, "arity", "returned 3.0, expected a tensor"),
    "an object": (lambda _self, _other: "text", "arity", "an object of type str"),
    "a subclass": (lambda self, other: (self + other).as_subclass(_Sneaky), "type", "_Sneaky"),
    "an attribute": (_with_attribute, "type", "behaviour of its own"),
    "sparse": (lambda self, other: (self + other).to_sparse(), "layout", "torch.sparse_coo"),
    "zeroed inputs": (_zero_inputs, "mutated_input", "argument 'self' was changed"),
    "written outside": (_write_before, "out_of_bounds_write", "bytes before argument 'self'"),
}  # fmt: skip


@pytest.mark.parametrize("what", _WRONG)
def test_a_wrong_kernel_fails_with_its_reason(judge: Judge, adding: Case, what: str) -> None:
    """Each fault has a reason of its own and words that a kernel author can act on."""
    kernel, reason, words = _WRONG[what]
    judged = judge(adding, kernel)
    assert judged.finding is not None
    assert (CaseStatus.FAILED, reason) == (judged.finding.status, judged.finding.reason)
    assert words in judged.finding.detail
    assert judged.finding.detail.startswith("round 'as_given': ")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_another_form_of_a_function_is_wrong_in_every_dtype(
    judge: Judge, write: CaseWriter, dtype: str
) -> None:
    """The two forms of GELU differ by less than half precision keeps of one, but not of their values."""
    case = write.case("gelu.default", write.tensor(1000, dtype=dtype))
    assert None is judge(case, lambda x: torch.nn.functional.gelu(x.float()).to(x.dtype)).finding
    other = judge(case, lambda x: torch.nn.functional.gelu(x, approximate="tanh"))
    assert (CaseStatus.FAILED, "values") == (other.finding and other.finding.status, other.reason)


def test_a_stored_answer_fails_in_the_next_round(judge: Judge, adding: Case) -> None:
    """A kernel that replays its first output is wrong as soon as values are fresh."""
    memory: list[torch.Tensor] = []

    def replay(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        memory.append(self + other)
        return memory[0].clone()

    judged = judge(adding, replay)
    assert "values" == judged.reason
    assert ["as_given", "wide"] == judged.rounds


def test_a_kernel_that_ignores_special_values_fails(judge: Judge, write: CaseWriter) -> None:
    """max(x, 0) as a comparison drops NaN, where eager keeps it."""
    case = write.case("relu.default", write.tensor(50))
    judged = judge(case, lambda self: torch.where(self > 0, self, 0.0))
    assert ("non_finite", "special") == (judged.reason, judged.rounds[-1])


def _fresh(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return self + other


def _write_both(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    self.add_(other)
    other.zero_()
    return self


def _return_a_copy(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return self.add_(other).clone()


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (_fresh, "aliasing"),
        (_return_a_copy, "aliasing"),
        (lambda self, other: self.add_(other).t(), "aliasing"),
        (lambda self, _other: self, "values"),
        (_write_both, "mutated_input"),
    ],
    ids=["a fresh result", "a copy", "another view", "nothing written", "the other argument too"],
)
def test_an_in_place_operator_must_do_exactly_that(
    judge: Judge, write: CaseWriter, kernel: Callable[..., Any], reason: str
) -> None:
    """The argument is changed, and it is what comes back; nothing else is changed."""
    case = write.case("add_.Tensor", write.tensor(4, 4), write.tensor(4, 4))
    assert reason == judge(case, kernel).reason


@pytest.mark.parametrize("operator", ["unsqueeze_.default", "t_.default", "squeeze_.default"])
def test_an_operator_that_changes_a_view_does_not_drift(
    judge: Judge, write: CaseWriter, operator: str
) -> None:
    """Each call sees the argument as the case has it, however often the operator is called."""
    case = write.case(operator, write.tensor(1, 4), *[0] * (operator == "unsqueeze_.default"))
    judged = judge(case, overload(case.operator), kind="view")
    assert None is judged.finding, judged.detail
    assert 5 == judged.tally.rounds


def test_an_out_argument_must_be_written_and_returned(judge: Judge, write: CaseWriter) -> None:
    """A right tensor in other memory is not what out= asks for."""
    case = write.case("add.out", write.tensor(9), write.tensor(9), out=write.tensor(9))
    assert "aliasing" == judge(case, lambda self, other, **_: self + other).reason
    assert "values" == judge(case, lambda _self, _other, out: out).reason


def test_a_write_between_the_elements_of_a_view_fails(judge: Judge, write: CaseWriter) -> None:
    """An in-place operator on a strided view may not touch what the view skips."""

    def careless(self: torch.Tensor, other: float) -> torch.Tensor:
        torch.as_strided(self, (9,), (1,)).mul_(other)
        return self

    case = write.case("mul_.Tensor", write.tensor(5, stride=(2,)), 2.0)
    judged = judge(case, careless)
    assert "out_of_bounds_write" == judged.reason
    assert "between those" in judged.detail


def test_a_kernel_that_is_not_deterministic_is_told_from_a_wrong_one(judge: Judge, write: CaseWriter) -> None:
    """Other bits within the tolerance pass, and are noted."""
    calls: list[int] = []

    def wavering(self: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return self.exp() * (1 + 2e-7 * (len(calls) % 2))

    case = write.case("exp.default", write.tensor(64, rule=UniformValues(low=-1.0, high=1.0)))
    judged = judge(case, wavering)
    assert None is judged.finding, judged.detail
    assert judged.tally.deterministic is False


def test_ties_may_select_another_index(judge: Judge, write: CaseWriter) -> None:
    """The last index of a maximum is as right as the first; a wrong index is not."""
    case = write.case("max.dim", write.tensor(4, 50, dtype="int64"), 1)

    def last(self: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        values, _ = self.max(dim)
        return values, self.size(dim) - 1 - self.flip(dim).argmax(dim)

    judged = judge(case, last)
    assert None is judged.finding, judged.detail
    assert (
        "values"
        == judge(case, lambda self, dim: (self.max(dim)[0], torch.zeros(4, dtype=torch.int64))).reason
    )
