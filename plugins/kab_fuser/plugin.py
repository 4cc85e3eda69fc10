"""Hook implementations of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_fuser.options import DECLARED
from kagent_bench.hooks.entries import GeneratorEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.hooks.protocols import Generator


def _load() -> Generator:
    from kab_fuser.generator import Fuser

    return Fuser()


@hookimpl
def kab_generators() -> Sequence[GeneratorEntry]:
    """Offer the fuser."""
    summary = "modules cut into regions, a kernel for each by another generator, put together again"
    return [GeneratorEntry("fuser", summary, _load, DECLARED, drives_others=True)]
