"""Hook implementations of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_kernelagent.options import DECLARED
from kagent_bench.hooks.entries import GeneratorEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.hooks.protocols import Generator


def _load() -> Generator:
    from kab_kernelagent.generator import KernelAgent

    return KernelAgent()


@hookimpl
def kab_generators() -> Sequence[GeneratorEntry]:
    """Offer the agent."""
    summary = "a language model's kernels, refined against the evaluator's verdict"
    return [GeneratorEntry("kernelagent", summary, _load, DECLARED)]
