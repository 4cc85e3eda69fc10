"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kagent_bench.report import units


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (1.0, "100%"),
        (0.0, "0%"),
        (0.5, "50%"),
        (1 / 3, "33.3%"),
        (0.99999, "99.9%"),
        (0.00001, "0.1%"),
        (None, "n/a"),
        (math.nan, "n/a"),
    ],
)
def test_percentage(share: float | None, expected: str) -> None:
    """All is 100%, nothing is 0%, and nothing else is either."""
    assert expected == units.percentage(share)


@given(part=st.integers(0, 10_000), rest=st.integers(1, 10_000))
def test_only_all_is_written_as_all(part: int, rest: int) -> None:
    """A part is never rounded up to 100% or down to 0%."""
    text = units.part_of(part, part + rest)
    assert "100%" not in text
    assert (part == 0) == text.endswith("(0%)")


@pytest.mark.parametrize(
    ("function", "value", "expected"),
    [
        (units.ratio, 1.25, "1.25x"),
        (units.ratio, 0.00123, "0.00123x"),
        (units.ratio, 123.456, "123x"),
        (units.ratio, None, "n/a"),
        (units.score, 1.0, "1.00"),
        (units.score, None, "n/a"),
        (units.magnitude, 1.2345e-7, "1.2e-07"),
        (units.magnitude, 0.0, "0"),
        (units.magnitude, math.inf, "inf"),
        (units.magnitude, None, "n/a"),
        (units.seconds, 8.5e-7, "850 ns"),
        (units.seconds, 0.0034, "3.4 ms"),
        (units.seconds, 5e-6, "5 us"),
        (units.seconds, 12.0, "12 s"),
        (units.seconds, 125.0, "2 min 5 s"),
        (units.seconds, 0.0, "0 ns"),
        (units.seconds, None, "n/a"),
        (units.byte_size, 0, "0 B"),
        (units.byte_size, 16 * 2**20, "16 MiB"),
        (units.byte_size, 1536, "1.5 KiB"),
        (units.byte_size, 3 * 2**40, "3 TiB"),
        (units.byte_size, None, "n/a"),
    ],
)
def test_numbers_have_their_unit(function: object, value: float | None, expected: str) -> None:
    """Each quantity is written in the unit that a person would choose."""
    assert callable(function)
    assert expected == function(value)
