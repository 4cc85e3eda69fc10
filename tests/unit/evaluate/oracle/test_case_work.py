"""Who computed a result: the library, a kernel of the file, or nobody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import torch

from kagent_bench.model.verdict import CaseStatus
from tests.unit.evaluate.oracle.conftest import add

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from kagent_bench.model.case import Case
    from tests.unit.evaluate.oracle.conftest import CaseWriter, Judge


def test_letting_the_library_compute_is_rejected(
    judge: Judge, adding: Case, oracle_settings: OracleSettings
) -> None:
    """A right result by torch's own operator is rejected by default, and only labelled on request."""
    said = {"calls": ["aten.add.Tensor", "aten.empty_like.default"]}
    judged = judge(adding, add, reply=said)
    assert judged.finding is not None
    assert (CaseStatus.REJECTED, "library_compute") == (judged.finding.status, judged.reason)
    assert "aten.add.Tensor" in judged.detail
    assert "empty_like" not in judged.detail
    lenient = type(judge)(replace(oracle_settings, policy="report"))(adding, add, reply=said)
    assert None is lenient.finding
    assert {"aten.add.Tensor", "aten.empty_like.default"} == lenient.tally.calls


@pytest.mark.parametrize("view", ["_neg_view", "_conj"])
def test_work_put_off_is_the_librarys_work(judge: Judge, adding: Case, view: str) -> None:
    """A view that is negated when it is read computes, though nothing else does."""
    judged = judge(adding, add, reply={"calls": [f"aten.{view}.default", "aten.view.default"]})
    assert judged.finding is not None
    assert (CaseStatus.REJECTED, "library_compute") == (judged.finding.status, judged.reason)
    assert "aten.view.default" not in judged.detail


def test_a_result_without_a_launch_is_rejected(judge: Judge, adding: Case) -> None:
    """Nobody computes thirty numbers without a kernel of the file."""
    judged = judge(adding, add, reply={"launches": 0})
    assert judged.finding is not None
    assert (CaseStatus.REJECTED, "no_kernel") == (judged.finding.status, judged.reason)


def test_a_sum_of_no_elements_needs_no_launch(judge: Judge, write: CaseWriter) -> None:
    """Zeros are all there is to it: an honest kernel returns before it would launch an empty grid."""
    case = write.case("sum.dim_IntList", write.tensor(3, 0), (1,))
    assert None is judge(case, lambda *_: torch.zeros(3), reply={"launches": 0}).finding


def test_what_no_rows_add_up_to_needs_no_launch(judge: Judge, write: CaseWriter) -> None:
    """Beside a batch without rows a weight's gradient is a fill, as no other result is that the call's arguments make."""
    gradient, saved, weight = write.tensor(0, 5), write.tensor(0, 1), write.tensor(5)
    case = write.case(
        "native_layer_norm_backward",
        gradient,
        gradient,
        (5,),
        saved,
        saved,
        weight,
        weight,
        (True, True, True),
    )
    nothing = (torch.zeros(0, 5), torch.zeros(5), torch.zeros(5))
    assert "vacuous" == judge(case, lambda *_: nothing, reply={"launches": 0}).reason
    case = write.case("addmm", write.tensor(5), write.tensor(3, 0), write.tensor(0, 5))
    judged = judge(case, lambda bias, *_: bias.expand(3, 5).clone(), reply={"launches": 0})
    assert "no_kernel" == judged.reason


def test_a_copied_argument_needs_no_launch_and_proves_nothing(judge: Judge, write: CaseWriter) -> None:
    """Flipped along no dimension a tensor is itself: an honest kernel copies it, and so does one that does nothing else."""
    case = write.case("flip", write.tensor(6, 5), ())
    judged = judge(case, lambda self, _: self.clone(), reply={"launches": 0, "calls": ["aten.clone.default"]})
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "vacuous") == (judged.finding.status, judged.reason)
    assert None is judge(case, lambda self, _: self.clone()).finding


def test_no_result_needs_no_launch(judge: Judge, write: CaseWriter) -> None:
    """Of a tensor repeated no times there is nothing to write."""
    case = write.case("repeat", write.tensor(6, 5), (0, 1))
    judged = judge(case, lambda *_: torch.empty(0, 5), reply={"launches": 0})
    assert judged.finding is not None
    assert (CaseStatus.NOT_JUDGED, "vacuous") == (judged.finding.status, judged.reason)


def test_half_an_argument_is_no_copy_of_it(judge: Judge, write: CaseWriter) -> None:
    """A result in another order, or of other elements, is to be computed."""
    case = write.case("flip", write.tensor(6, 5), (0,))
    assert "no_kernel" == judge(case, lambda self, _: self.flip(0), reply={"launches": 0}).reason


def test_a_wrong_result_is_wrong_before_it_is_rejected(judge: Judge, adding: Case) -> None:
    """The more useful finding comes first."""
    assert "values" == judge(adding, lambda _self, _other: torch.zeros(6, 5), reply={"launches": 0}).reason
