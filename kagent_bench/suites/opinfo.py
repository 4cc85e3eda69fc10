"""The ``opinfo`` suite: PyTorch's own operator samples, recorded by dtype and read from the cache."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import digest
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.cache import content_versions, ensure_shard
from kagent_bench.suites.shard import Shard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.names import OperatorName

DTYPES = ("float32", "float16", "bfloat16", "int64", "bool")
"""Sample dtypes that are recorded, each in a shard of its own; the order is that of the cases."""

CASES_PER_OPERATOR = 40
"""Cases of an operator and dtype unless the request says otherwise."""

MAX_RECORDERS = 4
"""Recording processes at a time: each takes 0.7 GB."""


class OpInfoSuite:
    """Operators that PyTorch's OpInfo samples reach."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._shards: dict[str, Shard] = {}

    def content_sha256(self) -> str:
        """Return a hash of the versions that decide the content."""
        return digest([list(item) for item in content_versions()])

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[OperatorName, ...]:
        """Return the operators that have cases of the request's dtypes, sorted."""
        shards = self._open(request or SuiteRequest())
        return tuple(sorted({name for shard in shards.values() for name in shard.kinds}))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with their cases, sorted by name, recording missing shards first.

        Raises:
            HarnessFault: a recording failed.
            InputError: a shard is damaged.
        """
        limit = CASES_PER_OPERATOR if request.cases_per_operator is None else request.cases_per_operator
        shards = self._open(request)
        for name in sorted({name for shard in shards.values() for name in shard.kinds}):
            if request.operators is not None and name not in request.operators:
                continue
            holders = [shard for shard in shards.values() if name in shard.kinds]
            cases = tuple(case for shard in holders for case in shard.cases(name, limit))
            yield OperatorCases(operator=name, kind=holders[0].kinds[name], cases=cases)

    def left_out(self, operator: OperatorName, request: SuiteRequest) -> dict[str, int]:
        """Return how many recorded calls of an operator are no cases, by reason."""
        counts: dict[str, int] = {}
        for shard in self._open(request).values():
            for reason, count in shard.left_out(operator).items():
                counts[reason] = counts.get(reason, 0) + count
        return counts

    def _open(self, request: SuiteRequest) -> dict[str, Shard]:
        wanted = [dtype for dtype in DTYPES if request.dtypes is None or dtype in request.dtypes]
        missing = [dtype for dtype in wanted if dtype not in self._shards]
        if missing:
            note = request.note or _say_nothing
            n_recorders = min(len(missing), len(os.sched_getaffinity(0)), MAX_RECORDERS)
            with ThreadPoolExecutor(n_recorders) as pool:
                paths = pool.map(lambda dtype: ensure_shard(dtype, note), missing)
                self._shards.update(zip(missing, map(Shard, paths), strict=True))
        return {dtype: self._shards[dtype] for dtype in wanted}


def _say_nothing(text: str) -> None:
    del text
