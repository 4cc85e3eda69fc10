"""One tolerance table, and who overrides whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from kagent_bench.config.resolve import argument_layer, resolve
from kagent_bench.errors import ConfigError
from kagent_bench.evaluate.tolerance import relative_factors, tolerance_table
from kagent_bench.model.case import ITEM_BYTES


def test_every_float_dtype_of_a_case_has_limits() -> None:
    """No case can ask for a tolerance that is not there."""
    expected = {name for name in ITEM_BYTES if name.startswith(("float", "bfloat", "complex"))}
    assert expected == set(tolerance_table({}))


def test_generators_are_told_what_the_evaluator_uses() -> None:
    """Both read one table, overrides included."""
    for overrides in ({}, {"bfloat16": 0.5}):
        limits = tolerance_table(overrides)
        assert {name: item.relative for name, item in limits.items()} == relative_factors(overrides)


def test_an_override_scales_both_factors() -> None:
    """Twice the relative factor is twice the accumulated one; other dtypes keep theirs."""
    shipped = tolerance_table({})
    changed = tolerance_table({"float16": 2 * shipped["float16"].relative})
    assert 2 * shipped["float16"].accumulated == pytest.approx(changed["float16"].accumulated)
    assert shipped["float32"] == changed["float32"]


@pytest.mark.parametrize(
    "overrides", [{"float12": 0.1}, {"float32": 0.0}, {"float32": -1.0}, {"float32": float("nan")}]
)
def test_what_is_no_tolerance_is_refused(overrides: dict[str, float]) -> None:
    """Unknown dtypes and factors that are not positive numbers are errors that say so."""
    with pytest.raises(ConfigError):
        tolerance_table(overrides)


def test_a_flag_wins_over_a_file_and_a_file_over_the_table(tmp_path: Path) -> None:
    """Command line over configuration file over the shipped table."""
    config = tmp_path / "kab.toml"
    config.write_text("[tolerance]\nfloat32 = 1e-3\nfloat16 = 2e-3\n")
    resolved = resolve(argument_layer({"tolerance": {"float32": 1e-2}}), config=config)
    factors = relative_factors(resolved.settings.tolerance)
    assert (1e-2, 2e-3) == (factors["float32"], factors["float16"])
    assert relative_factors({})["bfloat16"] == factors["bfloat16"]
