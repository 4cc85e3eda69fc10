"""The ``facto`` suite: calls that FACTO makes up from its specifications of operators, recorded once and cached."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import digest
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.cache import cache_dir
from kagent_bench.suites.left_out import left_out_notes
from kagent_bench.suites.made_file import make_file
from kagent_bench.suites.shard import FORMAT, Shard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.names import ProblemName

CASES_PER_OPERATOR = 40
"""Cases of an operator unless the request says otherwise."""
DIGITS = 12
"""Hexadecimal digits of a hash in a file's name."""


class FactoSuite:
    """Operators that FACTO has specifications of."""

    def __init__(self) -> None:
        """Find the package.

        Raises:
            UsageError: FACTO is not installed.
        """
        found = importlib.util.find_spec("facto")
        places = list(found.submodule_search_locations or []) if found else []
        if not places or not (Path(places[0]) / "specdb").is_dir():
            message = "the suite 'facto' needs FACTO, which is not installed"
            hint = "get it from https://github.com/meta-pytorch/FACTO, or use --suite opinfo"
            raise UsageError(message, hint=hint)
        sources = sorted(Path(places[0]).rglob("*.py"))
        self._revision = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:DIGITS]
        self._opened: Shard | None = None

    def content_sha256(self) -> str:
        """Return a hash of what decides the content: FACTO's sources, torch's version, our format."""
        return digest([self._revision, importlib.metadata.version("torch"), FORMAT])

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ProblemName, ...]:
        """Return the operators that have cases, of whatever dtype."""
        return tuple(sorted(self._shard(request or SuiteRequest()).kinds))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with their cases, sorted by name, recording them first where they are not yet.

        Raises:
            HarnessFault: the recording failed.
        """
        limit = CASES_PER_OPERATOR if request.cases_per_operator is None else request.cases_per_operator
        shard = self._shard(request)
        for name in sorted(shard.kinds):
            if request.operators is None or name in request.operators:
                yield OperatorCases(
                    operator=name, kind=shard.kinds[name], cases=tuple(shard.cases(name, limit))
                )

    def data_notes(self) -> tuple[str, ...]:
        """Return which revision of FACTO made the calls, and how many of them make no case."""
        shard = self._shard(SuiteRequest())
        notes = (f"data: calls made up by FACTO, sources {self._revision}",)
        return notes + left_out_notes((name, shard.left_out(name)) for name in sorted(shard.kinds))

    def _shard(self, request: SuiteRequest) -> Shard:
        if self._opened is None:
            path = cache_dir() / f"facto-{self.content_sha256()[:DIGITS]}.sqlite"
            if not path.exists():
                if request.note is not None:
                    request.note("having FACTO make up calls, once for this version")
                make_file("kagent_bench.suites.record_facto", path, "having FACTO make up calls")
            self._opened = Shard(path)
        return self._opened
