"""When calls start: what a server asks for is obeyed by all callers, and a server that only refuses is left alone."""

from __future__ import annotations

import pytest

from kab_kernelagent import pace as pace_module
from kab_kernelagent.pace import NotWantedError, Pace


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        """Begin at some moment."""
        self.now = 1000.0

    def monotonic(self) -> float:
        """Return the moment."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Take the place of the clock that the pace reads."""
    clock = Clock()
    monkeypatch.setattr(pace_module, "time", clock)
    monkeypatch.setattr(pace_module, "_POLL_S", 0.001)
    return clock


def _may_start(pace: Pace) -> bool:
    looks = iter([True, False])
    try:
        with pace.turn(lambda: next(looks)):
            return True
    except NotWantedError:
        return False


def test_everybody_waits_as_long_as_the_server_asks(clock: Clock) -> None:
    """And no longer."""
    pace = Pace(at_once=9, per_minute=0)
    assert _may_start(pace)

    pace.refused(3.0)

    clock.now += 2.9
    assert not _may_start(pace)
    clock.now += 0.2
    assert _may_start(pace)


def test_waits_grow_where_the_server_names_none(clock: Clock) -> None:
    """Refusals of calls that started together count once."""
    pace = Pace(at_once=9, per_minute=0)
    waits = []
    for _ in range(10):
        pace.refused(None)
        pace.refused(0.0)
        started = clock.now
        while not _may_start(pace):
            clock.now += 0.25
        waits.append(clock.now - started)

    assert sorted(waits) == waits
    assert waits[0] <= 1.0
    assert waits[-1] == pytest.approx(60, abs=1)


def test_a_server_that_always_refuses_is_not_believed(clock: Clock) -> None:
    """It asks to come back at once, again and again."""
    pace = Pace(at_once=9, per_minute=0)
    calls = 0
    while clock.now < 1300:
        if _may_start(pace):
            calls += 1
            pace.refused(0.01)
        clock.now += 0.1

    assert calls < 20


def test_an_answer_restores_the_trust(clock: Clock) -> None:
    """The next refusal is the first again."""
    pace = Pace(at_once=9, per_minute=0)
    for _ in range(20):
        pace.refused(None)
        clock.now += 61
    pace.answered()

    pace.refused(0.5)

    clock.now += 30  # the learnt rate of starts apart
    assert _may_start(pace)
