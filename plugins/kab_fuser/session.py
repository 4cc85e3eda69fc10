"""A run of the fuser: the inner generator's session, and each module's way through the pipeline."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_fuser.operator import OperatorComposition
from kab_fuser.options import UPSTREAM, FuserOptions
from kab_fuser.pipeline import Pipeline
from kab_fuser.region_store import RegionStore
from kagent_bench.hooks.protocols import GenerationResult, GenerationSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.hooks.protocols import GenerationRequest, GenerationRun, Generator
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.spending import Spending


COMPOSITIONS = 3
"""Kernels of one module that are judged at most: whole, composed, and composed of fewer regions."""


class FuserSession:
    """The session."""

    wants_verdict = True

    def __init__(
        self,
        options: FuserOptions,
        inner: Generator,
        table: Mapping[str, Any],
        run: GenerationRun,
        version: str,
    ) -> None:
        """Take the options and an opened inner generator.

        Args:
            options: the fuser's.
            inner: writes the kernels of regions.
            table: the inner generator's options.
            run: what the driver tells.
            version: of the fuser.
        """
        self._options = options
        self._inner = inner
        self._table = table
        self._run = run
        chosen = (options.inner, inner.version, options.route, options.agent, options.products)
        self.version = "-".join([version, *chosen, *(["slow"] if options.keep_slow else [])])
        inner_session = inner if isinstance(inner, GenerationSession) else None
        self._session = inner_session
        self.operators_at_once = inner_session.operators_at_once if inner_session else 0
        self.max_attempts = max(COMPOSITIONS, inner_session.max_attempts if inner_session else 1)
        self.wants_times = not options.keep_slow or bool(inner_session and inner_session.wants_times)
        self.secret_paths = inner_session.secret_paths if inner_session else ()
        about = json.dumps(run.judging, sort_keys=True, default=str)
        self.judge_seed = (
            inner_session.judge_seed if inner_session else hashlib.sha256(about.encode()).digest()
        )
        self.run_name = inner_session.run_name if inner_session else "fuser"
        self._store = RegionStore.open(options.inner, inner.version, [run.judging, run.device])
        self._solved: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._parts: dict[ProblemName, set[ProblemName]] = {}

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return the composed kernel of a module, or why there is none."""
        module = request.problem.module
        if module is None:
            return self._operator(request)
        if self._options.agent == UPSTREAM:
            from kab_fuser.upstream import run_upstream

            return run_upstream(request, self._options, self._run.base_dir)
        pipeline = Pipeline(
            request=request,
            options=self._options,
            inner=self._inner,
            table=self._table,
            store=self._store,
            folder=self._folder(request),
            lock_of=self._lock_of,
        )
        try:
            return pipeline.run()
        finally:
            self._parts[request.problem.operator] = pipeline.asked

    def _operator(self, request: GenerationRequest) -> GenerationResult:
        """Return the kernel of an operator, or why there is none."""
        if self._options.agent == UPSTREAM:
            detail = f"{request.problem.operator} is an operator: the public Fuser takes modules (--agent)"
            return GenerationResult(source=None, reason="unsupported", detail=detail)
        composition = OperatorComposition(
            request=request,
            inner=self._inner,
            name=self._options.inner,
            table=self._table,
            whole=self._options.route != "regions",
            parts=self._options.route != "whole",
            folder=self._folder(request),
        )
        try:
            return composition.run()
        finally:
            self._parts[request.problem.operator] = composition.asked

    def _folder(self, request: GenerationRequest) -> Path | None:
        """Return where the stages are left; None for a problem alone."""
        base = self._run.base_dir
        return base / request.problem.operator.folder / "fuser" if base != Path() else None

    def _lock_of(self, signature: str) -> threading.Lock:
        """Return the lock under which a region is solved, so that two modules do not solve it twice."""
        with self._lock:
            return self._solved.setdefault(signature, threading.Lock())

    def spending(self, operator: ProblemName) -> Spending | None:
        """Return what the inner generator took for a module's regions."""
        if self._session is None:
            return None
        found = [self._session.spending(name) for name in sorted(self._parts.get(operator, ()), key=str)]
        known = [item for item in found if item is not None]
        if not known:
            return None
        total = known[0]
        for item in known[1:]:
            total += item
        return total

    def close(self, *, interrupted: bool) -> None:
        """End the inner generator's session."""
        if self._session is not None:
            self._session.close(interrupted=interrupted)
