"""What a kernel's author hears of its speed: a mean over cases, the worst cases, and nothing that was not timed."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.judge_speed import speed
from kagent_bench.model.record import CaseRecord
from kagent_bench.model.timing import EAGER, EVENT_METHOD, HOST_METHOD, CaseTiming
from kagent_bench.model.verdict import CaseStatus


def _record(own_s: float, eager_s: float, *, method: str = EVENT_METHOD) -> CaseRecord:
    timing = CaseTiming(
        method=method,
        candidate_s=((own_s, own_s), (own_s, 100.0)),
        references_s={EAGER: ((eager_s,), (eager_s,), (eager_s,))},
        reference_first=(True, False),
        candidate_host_s=own_s,
        reference_host_s=eager_s,
        read_bytes=1000,
        written_bytes=1000,
        peak_bytes_per_s=1e9,
        launch_floor_s=2e-6,
    )
    return CaseRecord(
        key="k",
        op_name="relu.default",
        case_id="c",
        kernel_sha256="0",
        status=CaseStatus.PASSED,
        dtype="float32",
        origin="direct",
        held_out=False,
        call=f"(T([{round(own_s * 1e6)}]))",
        device="d",
        timing=timing,
    )


def test_the_mean_is_geometric_and_the_slowest_case_comes_first() -> None:
    """4x and 1x make 2x; medians, so that one hiccup does not count."""
    mean, words = speed([_record(4e-6, 16e-6), _record(8e-6, 8e-6)])

    assert pytest.approx(2.0) == mean
    first, second = words.splitlines()
    assert first.startswith("relu.default(T([8])): 8.0 us, eager 8.0 us, 1.00x, 25% of the memory bandwidth")
    assert "a kernel that does nothing takes 2.0 us" in first
    assert "4.00x" in second


def test_times_of_the_interpreter_say_nothing() -> None:
    """Nor do cases that were not timed."""
    assert (None, "") == speed([_record(1e-6, 1e-6, method=HOST_METHOD)])
    assert (None, "") == speed([])
