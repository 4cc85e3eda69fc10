"""Which cases a kernel is replayed on, and which failures are none of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.evaluate.case_end import Ended, is_proof
from kagent_bench.evaluate.supervisor import INTERPRETER_LIMITS
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
    assert expected is is_proof(relu(*shape), Ended(status=CaseStatus.PASSED, tally={"launches": 1}))


@pytest.mark.parametrize("tally", [{"launches": 0}, {"launches": 1, "survivors": ["zeros"]}])
def test_a_case_without_launches_or_told_by_no_control_proves_nothing(tally: dict[str, object]) -> None:
    """Only a strong case whose kernels were launched says that launches matter."""
    assert not is_proof(relu(100), Ended(status=CaseStatus.PASSED, tally=tally))


@pytest.mark.parametrize(
    "detail",
    [
        "NotImplementedError: libdevice.norm4d is not supported in interpreter mode",
        "RuntimeError: 0 active drivers ([]). There should only be one.",
        "AssertionError: Torch not compiled with CUDA enabled",
        "RuntimeError: Found no NVIDIA driver on your system.",
        "ValueError: Expected a cuda device, but got: cpu",
        "AssertionError: \n  line 7, in entry: assert x.is_cuda",
        "ValueError: this kernel needs a GPU",
    ],
)
def test_limits_are_told(detail: str) -> None:
    """Nobody can say here whether such a kernel is right."""
    assert INTERPRETER_LIMITS.search(detail)


@pytest.mark.parametrize("detail", ["TypeError: in _run_cuda: 'NoneType'", "ValueError: a shape of four", ""])
def test_other_failures_are_the_kernels_own(detail: str) -> None:
    """A name with CUDA in it says nothing."""
    assert not INTERPRETER_LIMITS.search(detail)
