"""Times that cannot be true."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.timing.suspicion import floor_s, hidden_s, suspicion
from tests.timings import timing


def test_an_honest_time_is_not_suspected() -> None:
    """Plausible clocks that agree."""
    assert suspicion(timing(50e-6, 60e-6)) is None


@pytest.mark.parametrize(
    "work",
    [
        {"must_read_bytes": 480_000_000},
        {"must_read_bytes": 0, "written_bytes": 480_000_000 + (50 << 20)},
        {"must_read_bytes": 0, "flops": int(67e12 * 100e-6)},
    ],
)
def test_faster_than_the_device(work: dict[str, int]) -> None:
    """Bytes that must be read, bytes written beyond the cache, operations: each has its least time."""
    assert floor_s(timing(50e-6, 120e-6, **work)) == pytest.approx(100e-6)
    found = suspicion(timing(50e-6, 120e-6, **work))
    assert found is not None
    assert "implausible_time" == found[0]
    assert suspicion(timing(101e-6, 120e-6, **work)) is None


def test_outputs_may_stay_in_the_cache() -> None:
    """What was written and fits need not have reached memory."""
    assert floor_s(timing(1e-6, 2e-6, must_read_bytes=0, written_bytes=40 << 20)) == 0


def test_an_unknown_device_has_no_floor() -> None:
    """Nothing is called impossible where nothing is known."""
    assert floor_s(timing(1e-9, 1e-6, peak_bytes_per_s=None)) is None


def test_a_burst_that_takes_longer_than_the_clock_says() -> None:
    """Calls of 100 us that claim 5 us."""
    found = suspicion(timing(5e-6, 100e-6, external_s=103e-6))
    assert found is not None
    assert "clock_disagrees" == found[0]


def test_a_busy_host_explains_a_slow_burst() -> None:
    """A kernel whose launching takes longer than it runs is bounded by its host time."""
    assert suspicion(timing(5e-6, 100e-6, external_s=103e-6, candidate_host_s=90e-6)) is None


def test_what_may_be_hidden_is_stated() -> None:
    """The outer clock less renewal and claim."""
    assert hidden_s(timing(10e-6, 20e-6, spread=0.0, external_s=30e-6, renewal_s=4e-6)) == pytest.approx(
        16e-6
    )
    assert 0 == hidden_s(timing(10e-6, 20e-6, external_s=9e-6))
    assert hidden_s(timing(10e-6, 20e-6, external_s=None)) is None
