"""Which cases a kernel is replayed on to see whether its launches matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.evaluate.supervisor import _Ended, _is_proof
from kagent_bench.model.verdict import CaseStatus
from tests.unit.evaluate.oracle.conftest import CaseWriter

if TYPE_CHECKING:
    from kagent_bench.model.case import Case


def relu(*shape: int) -> Case:
    """Return a call of relu."""
    write = CaseWriter()
    return write.case("relu.default", write.tensor(*shape))


@pytest.mark.parametrize(("shape", "expected"), [((), False), ((3, 5), False), ((16,), True), ((0,), False)])
def test_few_elements_prove_nothing(shape: tuple[int, ...], *, expected: bool) -> None:
    """A kernel that starts from zeros is right without launches where every value that was drawn is negative."""
    assert expected is _is_proof(relu(*shape), _Ended(status=CaseStatus.PASSED, tally={"launches": 1}))


@pytest.mark.parametrize("tally", [{"launches": 0}, {"launches": 1, "survivors": ["zeros"]}])
def test_a_case_without_launches_or_told_by_no_control_proves_nothing(tally: dict[str, object]) -> None:
    """Only a strong case whose kernels were launched says that launches matter."""
    assert not _is_proof(relu(100), _Ended(status=CaseStatus.PASSED, tally=tally))
