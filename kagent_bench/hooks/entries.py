"""Frozen entries that hooks return: a name, one line of summary, and a lazy ``load``.

Nothing is imported by listing entries; ``load`` imports what it needs when the entry is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from kagent_bench.hooks.options import GeneratorOption
    from kagent_bench.hooks.protocols import (  # noqa: F401 - named in the quoted type arguments below
        DtypeFilter,
        Executor,
        Generator,
        ReportFormat,
        Suite,
    )

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Entry(Generic[T_co]):
    """Something that a plugin offers under a name."""

    name: str
    """What the user types: lower case, unique in its kind."""
    summary: str
    """One line for listings."""
    load: Callable[[], T_co]
    """Returns the implementation; called at most once per process, only when the entry is used."""


@dataclass(frozen=True, slots=True)
class GeneratorEntry(Entry["Generator"]):
    """A kernel generator, chosen with ``--workflow``."""

    options: tuple[GeneratorOption, ...] = ()
    """What its table ``[generators.<name>]`` may hold; without any the table is free and unchecked."""
    drives_others: bool = False
    """Whether it hands problems on to other generators, so that their options may be given as well."""


class DtypeFilterEntry(Entry["DtypeFilter"]):
    """A dtype filter, chosen with ``--dtype``."""

    __slots__ = ()


class SuiteEntry(Entry["Suite"]):
    """A suite of operators and cases, chosen with ``--suite``."""

    __slots__ = ()


class ReportFormatEntry(Entry["ReportFormat"]):
    """A report format, chosen with ``--format``."""

    __slots__ = ()


class ExecutorEntry(Entry["Executor"]):
    """A way to spread kernels over workers, chosen with ``--executor``."""

    __slots__ = ()
