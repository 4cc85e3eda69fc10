"""The generator behind the name ``fuser``: hands the regions of a module to another generator and composes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_fuser.options import UPSTREAM, FuserOptions
from kab_fuser.session import FuserSession
from kagent_bench.errors import UsageError
from kagent_bench.hooks.catalog import Catalog, build_catalog
from kagent_bench.hooks.protocols import GenerationRun, SessionGenerator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.hooks.protocols import (
        GenerationRequest,
        GenerationResult,
        GenerationSession,
        Generator,
    )

VERSION = "1"
"""Changes when the same request may give another composition."""
NAME = "fuser"


class Fuser:
    """Writes kernels for modules."""

    version = VERSION
    wants_verdict = True

    def check(self, options: Mapping[str, Any]) -> None:
        """Find out whether work can be done.

        Raises:
            UsageError: the inner generator is unknown or is the fuser itself, or the public Fuser is not installed.
        """
        read = FuserOptions.read(options)
        if read.agent == UPSTREAM:
            from kab_fuser.upstream import check_installed

            check_installed(read)
        find_inner(read.inner)

    def open(self, run: GenerationRun) -> GenerationSession:
        """Begin a run.

        Raises:
            UsageError: as the inner generator says.
        """
        read = FuserOptions.read(run.options)
        inner = find_inner(read.inner)
        table = run.tables.get(read.inner, {})
        if isinstance(inner, SessionGenerator):
            inner.check(table)
            inner = inner.open(
                GenerationRun(options=table, base_dir=run.base_dir, device=run.device, judging=run.judging)
            )
        return FuserSession(read, inner, table, run, VERSION)

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Solve a single problem in a run of its own."""
        run = GenerationRun(options=request.options, base_dir=Path(), device=request.device, judging={})
        session = self.open(run)
        try:
            return session.generate(request)
        finally:
            session.close(interrupted=False)


def find_inner(name: str) -> Generator:
    """Return the generator of regions.

    Raises:
        UnknownName: there is none of this name.
        UsageError: it is the fuser itself.
    """
    if name == NAME:
        message = "the fuser cannot be its own inner generator (--inner fuser)"
        raise UsageError(message, hint="name another generator: kab list")
    return _catalog().generators.load(name, asked_by="--inner")


@cache
def _catalog() -> Catalog:
    return build_catalog()
