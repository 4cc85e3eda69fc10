"""The hooks. Each is called once per process, before any work; the order of plugins has no meaning.

A hook returns a list of frozen entries and changes nothing. Two entries of one kind with the same name are
an error that names both plugins. A plugin that raises is left out and named, unless it is one of ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.hooks.entries import (
        DtypeFilterEntry,
        ExecutorEntry,
        GeneratorEntry,
        ReportFormatEntry,
        SuiteEntry,
    )

PROJECT = "kagent_bench"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def kab_generators() -> Sequence[GeneratorEntry]:  # type: ignore[empty-body]
    """Return the kernel generators of this plugin; ``load`` returns a ``protocols.Generator``."""


@hookspec
def kab_dtype_filters() -> Sequence[DtypeFilterEntry]:  # type: ignore[empty-body]
    """Return the dtype filters of this plugin; ``load`` returns a ``protocols.DtypeFilter``."""


@hookspec
def kab_suites() -> Sequence[SuiteEntry]:  # type: ignore[empty-body]
    """Return the suites of this plugin; ``load`` returns a ``protocols.Suite``."""


@hookspec
def kab_report_formats() -> Sequence[ReportFormatEntry]:  # type: ignore[empty-body]
    """Return the report formats of this plugin; ``load`` returns a ``protocols.ReportFormat``."""


@hookspec
def kab_executors() -> Sequence[ExecutorEntry]:  # type: ignore[empty-body]
    """Return the executors of this plugin; ``load`` returns a ``protocols.Executor``."""
