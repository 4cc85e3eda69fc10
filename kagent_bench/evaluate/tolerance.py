"""The one tolerance table: ``configs/tolerances.toml`` with a suite's and the user's values over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kagent_bench.config.files import configs_dir, read_toml
from kagent_bench.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of an output dtype: ``|error| <= relative * |exact| + accumulated * m``."""

    relative: float
    """Factor of the exact result's magnitude."""
    accumulated: float
    """Factor of the accumulated magnitude of the terms."""


def tolerance_table(overrides: Mapping[str, float]) -> dict[str, Limits]:
    """Return the limits per dtype, with overriding relative factors laid over the shipped ones.

    An override scales the accumulated factor by the same ratio.

    Raises:
        ConfigError: an override names an unknown dtype or is not a positive number.
    """
    table = read_toml(configs_dir() / "tolerances.toml")
    limits = {
        dtype: Limits(relative=factor, accumulated=table["accumulated"][dtype])
        for dtype, factor in table["relative"].items()
    }
    for dtype, factor in overrides.items():
        if dtype not in limits:
            message = f"no tolerance is known for dtype '{dtype}' (asked for by tolerance)"
            raise ConfigError(message, hint="known: " + ", ".join(limits))
        if not factor > 0:
            message = f"the tolerance of {dtype} is {factor}, not a positive number"
            raise ConfigError(message, hint="give a factor such as 1e-5")
        ratio = factor / limits[dtype].relative
        limits[dtype] = Limits(relative=factor, accumulated=limits[dtype].accumulated * ratio)
    return limits


def relative_factors(overrides: Mapping[str, float]) -> dict[str, float]:
    """Return the relative factor per dtype: what generators are told."""
    return {dtype: limits.relative for dtype, limits in tolerance_table(overrides).items()}
