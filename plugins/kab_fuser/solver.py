"""Having the kernels of regions written, judged and kept: each distinct region once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kab_fuser.region_source import region_source
from kab_fuser.signature import Signature, problem_of
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.hooks.protocols import Attempt, GenerationRequest
from kagent_bench.model.identity import digest
from kagent_bench.model.verdict import OperatorVerdict

if TYPE_CHECKING:
    from kab_fuser.region_store import RegionStore
    from kagent_bench.hooks.protocols import Generator
    from kagent_bench.model.case import ValueRule
    from kagent_bench.model.names import ProblemName

CORRECT = OperatorVerdict.CORRECT.value
USABLE = frozenset([CORRECT, OperatorVerdict.NOT_JUDGED.value])
SLOWEST = 0.95
"""Speed beside the library below which a region stays with it; what lies above may be noise."""


class Remembering:
    """A judge that is asked about a text once. What a generator says of its kernel is hearsay; this is not."""

    def __init__(self, judge: Callable[[str], Attempt]) -> None:
        """Take the judge."""
        self._judge = judge
        self.known: dict[str, Attempt] = {}

    def __call__(self, source: str) -> Attempt:
        """Judge a text."""
        if source not in self.known:
            self.known[source] = self._judge(source)
        return self.known[source]


@dataclass(slots=True, kw_only=True)
class Solver:
    """Solves the regions of one module."""

    request: GenerationRequest
    """The module's."""
    inner: Generator
    name: str
    """The inner generator's."""
    table: Mapping[str, Any]
    """The inner generator's options."""
    store: RegionStore
    lock_of: Callable[[str], AbstractContextManager[Any]]
    keep_slow: bool
    asked: set[ProblemName] = field(default_factory=set)
    """Problems that the inner generator was given."""
    kernels: dict[str, str] = field(default_factory=dict)
    """Kernel files by signature."""
    slow: dict[str, str] = field(default_factory=dict)
    """Correct kernels that the library beats, by signature."""
    failed: dict[str, str] = field(default_factory=dict)
    """Why there is no kernel, by signature."""
    speedups: dict[str, float] = field(default_factory=dict)
    """How fast regions are beside their calls, by signature, where that was measured."""
    attempts: int = 0
    """Kernels of regions that were judged."""
    _started: float = field(default_factory=time.monotonic)

    def take_slow(self) -> bool:
        """Take the slow kernels after all; return whether there were any."""
        self.kernels |= self.slow
        self.failed = {name: why for name, why in self.failed.items() if name not in self.slow}
        self.keep_slow = True
        return bool(self.slow)

    def solve(self, signature: Signature, rules: Mapping[str, ValueRule]) -> None:
        """Find a kernel for a region, or why there is none.

        Args:
            signature: the region.
            rules: how its inputs are drawn, by neutral name.
        """
        if signature.name in self.kernels or signature.name in self.failed:
            return
        drawn = digest([[name, repr(rule)[:200]] for name, rule in sorted(rules.items())])[:8]
        key = f"{signature.name}-{drawn}"
        with self.lock_of(signature.name):
            known = self.store.find(key)
            if known is not None:
                self.kernels[signature.name] = known
            else:
                self._ask(signature, rules, key)

    def _ask(self, signature: Signature, rules: Mapping[str, ValueRule], key: str) -> None:
        item = problem_of(signature, rules, region_source(signature.program))
        self.asked.add(item.operator)
        part = self.request.judge_part
        judge = Remembering(_unjudged if part is None else part(item))
        remaining = self.request.deadline_s - (time.monotonic() - self._started)
        request = replace(
            self.request,
            problem=build_problem(item, self.request.tolerance),
            judge=judge,
            deadline_s=max(remaining, 1.0),
            options=self.table,
        )
        result = self.inner.generate(request)
        attempt = None if result.source is None else judge(result.source)
        self.attempts += len(judge.known)
        if attempt is not None and attempt.speedup is not None:
            self.speedups[signature.name] = attempt.speedup
        if result.source is None or attempt is None:
            self.failed[signature.name] = f"{self.name}: {result.detail or result.reason}"
        elif attempt.verdict not in USABLE:
            first = "".join(attempt.feedback.splitlines()[:1])
            self.failed[signature.name] = f"its kernel is {attempt.verdict}: {first}"
        elif not self.keep_slow and attempt.speedup is not None and attempt.speedup < SLOWEST:
            self.slow[signature.name] = result.source
            self.failed[signature.name] = f"its kernel has {attempt.speedup:.2f} of the library's speed"
        else:
            self.kernels[signature.name] = result.source
            if attempt.verdict == CORRECT:
                self.store.keep(key, result.source)


def _unjudged(source: str) -> Attempt:
    return Attempt(source=source, verdict=CORRECT, feedback="")
