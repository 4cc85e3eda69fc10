"""Hook implementations of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import GeneratorEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.hooks.protocols import Generator


def _load() -> Generator:
    from kab_baseline.generator import BaselineGenerator

    return BaselineGenerator()


@hookimpl
def kab_generators() -> Sequence[GeneratorEntry]:
    """Offer the baseline generator."""
    return [
        GeneratorEntry(
            "baseline", "deterministic Triton kernels written from a table of formulas, no LLM", _load
        )
    ]
