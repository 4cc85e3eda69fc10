"""Cases that decide nothing: what cannot be tried, has no values, or would let wrong outputs pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.evaluate.oracle.rounds import REPEAT
from kagent_bench.model.case import Case, UniformValues
from kagent_bench.model.verdict import CaseStatus
from tests.unit.evaluate.oracle.conftest import add

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from tests.unit.evaluate.oracle.conftest import CaseWriter, Judge


def test_an_unstable_reference_judges_nobody(judge: Judge, adding: Case) -> None:
    """A reference that differs from itself ends the case before the kernel is called."""

    def unstable(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return self + other + torch.rand(5)

    judged = judge(adding, add, operator=unstable)
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "unstable_reference") == (judged.finding.status, judged.reason)
    assert [] == judged.rounds


def test_a_reference_that_raises_judges_nobody(judge: Judge, write: CaseWriter) -> None:
    """A call that eager refuses says nothing about a kernel."""
    case = write.case("mm.default", write.tensor(2, 3), write.tensor(2, 3))
    judged = judge(case, torch.mm)
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "reference_raises") == (judged.finding.status, judged.reason)


def test_a_case_that_does_not_fit_is_skipped(judge: Judge, write: CaseWriter) -> None:
    """Ten terabytes are too large, not wrong; so is an operator that runs out of memory itself."""
    huge = write.case("relu.default", write.tensor(10 << 38))
    judged = judge(huge, torch.relu)
    assert judged.finding is not None
    assert (CaseStatus.SKIPPED, "too_large") == (judged.finding.status, judged.reason)
    assert str(10 << 40) in judged.detail
    write.storages.clear()

    def greedy(self: torch.Tensor) -> torch.Tensor:
        return torch.empty(1 << 60) + self

    small = write.case("relu.default", write.tensor(3))
    assert "too_large" == judge(small, torch.relu, operator=greedy).reason


def _short_of_memory(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    if torch.equal(self, self.round()):
        raise MemoryError
    return self + other


def test_rounds_that_eager_refuses_are_dropped_and_noted(judge: Judge, adding: Case) -> None:
    """A distribution under which eager raises, or gives only NaN, does not count against the kernel."""

    def picky(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        if not bool(self.isfinite().all()):
            raise RuntimeError("not finite")
        if torch.equal(self, self.round()):
            return self + other * float("nan")
        return self + other

    judged = judge(adding, add, operator=picky)
    assert None is judged.finding, judged.detail
    assert ["integers", "special"] == judged.tally.dropped
    assert ["integers"] == judge(adding, add, operator=_short_of_memory).tally.dropped
    assert ["as_given", "wide", "late_wide", REPEAT] == judged.rounds


def test_empty_outputs_prove_nothing(judge: Judge, write: CaseWriter) -> None:
    """Metadata is checked, and the case is vacuous, not passed."""
    case = write.case("relu.default", write.tensor(0, 3))
    judged = judge(case, torch.relu)
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "vacuous") == (judged.finding.status, judged.reason)
    assert "shape" == judge(case, lambda _self: torch.empty(3, 0)).reason


def test_values_of_random_operators_are_not_compared(judge: Judge, write: CaseWriter) -> None:
    """Metadata is all that can be right; a wrong shape still fails."""
    case = write.case("bernoulli.default", write.tensor(9, rule=UniformValues(low=0.0, high=1.0)))
    judged = judge(case, lambda _self: torch.zeros(9), kind="random")
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "metadata_only") == (judged.finding.status, judged.reason)
    assert "shape" == judge(case, lambda _self: torch.zeros(8), kind="random").reason
    assert "dtype" == judge(case, lambda _self: torch.zeros(9).double(), kind="random").reason


def test_bfloat16_arithmetic_of_the_interpreter_is_not_held_against_a_kernel(
    judge: Judge, write: CaseWriter, oracle_settings: OracleSettings
) -> None:
    """Wrong values after such arithmetic are not judged in the interpreter; on a device they are wrong."""
    case = write.case("relu.default", write.tensor(9, dtype="bfloat16"))

    def wrong(self: torch.Tensor) -> torch.Tensor:
        return torch.ones_like(self)

    said = {"bf16_arithmetic": True}
    assert "interpreter" == judge(case, wrong, reply=said).reason
    assert "values" == judge(case, wrong).reason
    compiled = type(judge)(replace(oracle_settings, interpreter=False))
    assert "values" == compiled(case, wrong, reply=said).reason


def test_bfloat16_is_no_excuse_where_the_case_has_none(judge: Judge, adding: Case) -> None:
    """A float32 kernel that computes in bfloat16 is wrong on any machine."""
    assert (
        "values"
        == judge(adding, lambda _self, _other: torch.zeros(6, 5), reply={"bf16_arithmetic": True}).reason
    )


@pytest.mark.parametrize(
    ("values", "survivors"),
    [(torch.zeros(9), {"zeros", "input", "shuffled"}), (torch.ones(9), {"ones", "input", "shuffled"})],
)
def test_a_case_that_controls_pass_is_weak(
    judge: Judge, write: CaseWriter, values: torch.Tensor, survivors: set[str]
) -> None:
    """Rectified constants are what trivial kernels return too, and the record says which."""
    case = write.case("relu.default", write.literal(values))
    judged = judge(case, torch.relu, operator=lambda self: self.clone())
    assert None is judged.finding
    assert survivors == judged.tally.survivors
