"""Opens and closes the session of a generator that wants one, and stores what it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING

from kagent_bench.generate.device import device_kind
from kagent_bench.hooks.protocols import GenerationRun, GenerationSession, SessionGenerator
from kagent_bench.stores.kernels import KernelStore
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from kagent_bench.config.schema import Settings
    from kagent_bench.hooks.protocols import Generator
    from kagent_bench.model.selection import Selection


def check_generator(generator: Generator, name: str, settings: Settings) -> None:
    """Let the generator say before any work that it cannot do any.

    Raises:
        KabError: as the generator says.
    """
    if isinstance(generator, SessionGenerator):
        generator.check(settings.generators.get(name, {}))


@contextmanager
def opened(generator: Generator, name: str, settings: Settings, selection: Selection) -> Iterator[Generator]:
    """Give the generator's session, or the generator itself where it wants none.

    At the end, whatever happened, the session is closed, and what it took is stored beside the kernels.

    Raises:
        KabError: as the generator says.
    """
    if not isinstance(generator, SessionGenerator):
        yield generator
        return
    run = GenerationRun(
        options=settings.generators.get(name, {}),
        base_dir=settings.base_dir,
        device=device_kind(settings.evaluate.device),
        judging=_judging(settings, selection),
        tables=settings.generators,
    )
    session = generator.open(run)
    interrupted = True
    try:
        yield session
        interrupted = False
    finally:
        session.close(interrupted=interrupted)
        _store_spending(session, settings, selection)


def _store_spending(session: GenerationSession, settings: Settings, selection: Selection) -> None:
    store = KernelStore(settings.base_dir)
    for item in selection.operators:
        spending = session.spending(item.operator)
        if spending is not None:
            store.add_spending(item.operator, session.run_name, spending)


def _judging(settings: Settings, selection: Selection) -> dict[str, object]:
    """Return what a verdict depends on: with the same kernel, seed and these, it is the same."""
    limits = asdict(settings.evaluate)
    limits.pop("executor")
    return {
        "suite": selection.suite,
        "suite_sha256": selection.suite_sha256,
        "cases_per_operator": settings.selection.cases_per_operator,
        "dtype": list(settings.selection.dtype),
        "tolerance": dict(settings.tolerance),
        "evaluate": limits,
        "kab": installed_version(),
    }
