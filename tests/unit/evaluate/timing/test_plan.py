"""How often a case is timed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.evaluate.timing.plan import (
    BUDGET_BYTES,
    BUDGET_S,
    BURST_S,
    FEWEST_CALLS,
    FEWEST_TURNS,
    HELD_BYTES,
    MOST_BURST_CALLS,
    MOST_HELD,
    MOST_SAMPLES,
    UNRECORDED_CALLS,
    held,
    plan,
)


@given(
    pilot_s=st.lists(st.floats(1e-6, 1.0), min_size=3, max_size=8),
    call_wall_s=st.floats(1e-5, 2.0),
    input_bytes=st.integers(0, 1 << 36),
    n_sides=st.integers(2, 3),
    most_slots=st.integers(FEWEST_CALLS + UNRECORDED_CALLS, 64),
)
def test_every_plan_can_be_carried_out(
    pilot_s: list[float], call_wall_s: float, input_bytes: int, n_sides: int, most_slots: int
) -> None:
    """Enough turns for an interval, no more contents than there is memory for, at least one burst call."""
    made = plan(
        pilot_s, call_wall_s=call_wall_s, input_bytes=input_bytes, n_sides=n_sides, most_slots=most_slots
    )
    assert FEWEST_TURNS == made.turns
    assert FEWEST_CALLS <= made.calls <= MOST_SAMPLES / FEWEST_TURNS
    assert made.slots <= most_slots
    assert 1 <= made.burst_calls <= MOST_BURST_CALLS


def test_the_budget_binds() -> None:
    """A steady kernel is timed within the budget, a case of more bytes in proportion longer."""
    small = plan([1e-5] * 6, call_wall_s=1e-4, input_bytes=0, n_sides=2, most_slots=64)
    large = plan([1e-5] * 6, call_wall_s=1e-4, input_bytes=4 * BUDGET_BYTES, n_sides=2, most_slots=64)
    assert _seconds(small) <= BUDGET_S
    assert _seconds(small) <= _seconds(large) <= 4 * BUDGET_S


def _seconds(made: object) -> float:
    turns, slots = (getattr(made, name) for name in ("turns", "slots"))
    return float(turns * slots * 2 * 1e-4)


def test_noise_asks_for_more_calls() -> None:
    """What spreads is repeated; what is short spreads in proportion."""
    steady = plan([5e-5] * 6, call_wall_s=6e-5, input_bytes=0, n_sides=2, most_slots=64)
    noisy = plan([4e-5, 5e-5, 6e-5, 7e-5], call_wall_s=6e-5, input_bytes=0, n_sides=2, most_slots=64)
    short = plan([5e-6] * 6, call_wall_s=6e-5, input_bytes=0, n_sides=2, most_slots=64)
    assert steady.calls < noisy.calls
    assert steady.calls < short.calls


def test_the_burst_is_long_enough_to_be_read() -> None:
    """Its length is that of a kernel that takes as long as the reference."""
    made = plan([1e-4] * 6, call_wall_s=2e-4, input_bytes=0, n_sides=2, most_slots=64)
    assert BURST_S <= made.burst_calls * 1e-4 < 2 * BURST_S


def test_large_outputs_are_not_held() -> None:
    """Small outputs are held for some calls, large ones are given back at once."""
    assert MOST_HELD == held(1024)
    assert MOST_HELD == held(0)
    assert 1 == held(HELD_BYTES)
    assert 0 == held(HELD_BYTES + 1)
