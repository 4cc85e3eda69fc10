"""What a candidate says is not believed, and what it could use is not told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kagent_bench.evaluate.arena import Arena
from kagent_bench.evaluate.oracle.case_judge import CaseJudge
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.model.verdict import CaseStatus
from tests.unit.evaluate.oracle.conftest import add

if TYPE_CHECKING:
    from kagent_bench.evaluate.oracle.rounds import OracleSettings
    from kagent_bench.model.case import Case
    from tests.unit.evaluate.oracle.conftest import Judge


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    "lie",
    [
        {"leaves": 5},
        {"leaves": None},
        {"leaves": {}},
        {"leaves": []},
        {"leaves": [5]},
        {"value": 5},
        {"value": None},
        {"value": {"sequence": 5}},
        {"value": {"number": 10**4000}},
        {"value": {"sequence": [{"tensor": 0}, {"tensor": 1}]}},
    ],
    ids=str,
)
def test_a_lie_about_the_outputs_is_a_failure(judge: Judge, adding: Case, lie: dict[str, Any]) -> None:
    """A process that misdescribes what it returned fails; it does not bring the judge down."""
    judged = judge(adding, add, reply=lie)
    assert judged.finding is not None
    assert CaseStatus.FAILED is judged.finding.status
    assert judged.reason in {"unreadable_output", "arity"}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lies=st.dictionaries(
        st.sampled_from(["value", "leaves", "launches", "calls", "bf16_arithmetic"]), JSON_LIKE, min_size=1
    )
)
def test_no_reply_brings_the_judge_down(judge: Judge, adding: Case, lies: dict[str, Any]) -> None:
    """Any JSON anywhere in a reply ends in a finding or in a right result."""
    judged = judge(adding, add, reply=lies)
    assert judged.finding is None or judged.finding.status in {CaseStatus.FAILED, CaseStatus.REJECTED}


def test_guard_bands_are_secret_and_fresh(oracle_settings: OracleSettings, adding: Case) -> None:
    """What lies around the inputs cannot be foreseen, and differs from round to round."""
    judge = CaseJudge(
        adding, "value", overload(adding.operator), semantics_of(adding.operator), oracle_settings
    )
    assert None is judge.open()
    assert judge.layout is not None
    arena = Arena(judge.layout.n_bytes)
    guards = []
    for _ in range(2):
        judge.fill(arena)
        guards.append(arena.memory[: judge.layout.regions[0].offset])
        assert judge.advance()
    arena.close()
    assert guards[0] != guards[1]
    assert 100 < len(set(guards[0]))


def test_the_output_may_lie_anywhere_in_memory(judge: Judge, adding: Case) -> None:
    """A transposed or padded result is read element by element."""

    def padded(self: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        room = torch.full((6, 100), float("nan"))
        room[:, 10:15] = self + other
        return room[:, 10:15]

    assert None is judge(adding, padded).finding
    assert None is judge(adding, lambda self, other: (self + other).t().contiguous().t()).finding


def test_the_header_for_the_candidate_holds_no_expected_value(
    oracle_settings: OracleSettings, adding: Case
) -> None:
    """The arena holds inputs and noise; the right result is nowhere in it."""
    judge = CaseJudge(
        adding, "value", overload(adding.operator), semantics_of(adding.operator), oracle_settings
    )
    assert None is judge.open()
    assert judge.layout is not None
    assert judge._round is not None
    arena = Arena(judge.layout.n_bytes)
    judge.fill(arena)
    right = judge._round.eager.leaves[0].numpy().tobytes()
    assert -1 == arena.memory.find(right[:16])
    arena.close()
