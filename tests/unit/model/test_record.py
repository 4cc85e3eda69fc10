"""Records survive their JSON form."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.model.record import CaseRecord
from kagent_bench.model.verdict import CaseStatus

TEXT = st.text(max_size=8)
NUMBER = st.none() | st.floats(allow_nan=False)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
RECORDS = st.builds(
    CaseRecord,
    key=TEXT,
    op_name=TEXT,
    case_id=TEXT,
    kernel_sha256=TEXT,
    status=st.sampled_from(CaseStatus),
    reason=TEXT,
    detail=TEXT,
    dtype=TEXT,
    origin=TEXT,
    held_out=st.booleans(),
    strong=st.booleans(),
    survivors=NAMES,
    call=TEXT,
    device=TEXT,
    rounds=st.integers(0, 9),
    dropped_rounds=NAMES,
    max_abs_error=NUMBER,
    max_rel_error=NUMBER,
    nan_count=st.none() | st.integers(0),
    tolerance=NUMBER,
    backendbench_passed=st.none() | st.booleans(),
    deterministic=st.none() | st.booleans(),
    launches=st.none() | st.integers(0),
    library_calls=NAMES,
    first_call_s=NUMBER,
    duration_s=st.floats(0, 1e9),
)


@given(record=RECORDS)
def test_a_record_survives_a_strict_json_round_trip(record: CaseRecord) -> None:
    """What is stored is what is read, infinities included, in JSON that any reader takes."""
    text = json.dumps(record.to_json(), allow_nan=False)
    assert record == CaseRecord.from_json(json.loads(text))


def test_a_nan_is_stored_by_name() -> None:
    """JSON has no NaN; the record comes back with one all the same."""
    record = _record(max_abs_error=math.nan)
    assert "nan" == record.to_json()["max_abs_error"]
    error = CaseRecord.from_json(record.to_json()).max_abs_error
    assert error is not None
    assert math.isnan(error)


@pytest.mark.parametrize("change", [{"status": "fine"}, {"surprise": 1}])
def test_what_is_no_record_is_refused(change: dict[str, object]) -> None:
    """Unknown statuses and unknown keys do not pass silently."""
    with pytest.raises((TypeError, ValueError)):
        CaseRecord.from_json(_record().to_json() | change)


def _record(*, max_abs_error: float | None = None) -> CaseRecord:
    return CaseRecord(
        key="k",
        op_name="relu.default",
        case_id="0" * 12,
        kernel_sha256="ab",
        status=CaseStatus.PASSED,
        dtype="float32",
        origin="smoke",
        held_out=False,
        call="()",
        device="cpu",
        max_abs_error=max_abs_error,
    )
