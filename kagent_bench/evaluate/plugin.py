"""Hook implementations of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import ExecutorEntry
from kagent_bench.hooks.specs import hookimpl

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import Executor


def _local() -> Executor:
    from kagent_bench.evaluate.local_executor import LocalExecutor

    return LocalExecutor()


@hookimpl
def kab_executors() -> list[ExecutorEntry]:
    """Offer the executor for this machine."""
    return [ExecutorEntry("local", "Worker threads on this machine, one per core or device.", _local)]
