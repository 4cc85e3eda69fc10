"""Generates one operator: asks the generator, has its kernels judged, and promotes the best one.

Whether the result is judged here: ``generate`` asks the evaluator only where the generator uses the answer, that
is where more than one attempt is allowed or the generator says ``wants_verdict = True``. A deterministic
generator's kernel is stored unverified, and ``evaluate`` decides.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from kagent_bench.artefacts.problem import build_problem
from kagent_bench.errors import KabError
from kagent_bench.generate.attempts import Judge, OutOfAttemptsError, RecordingJudge, rank, usable
from kagent_bench.generate.deadline import Overdue, Raised, call_within
from kagent_bench.generate.standing import VERDICT, Standing, examine
from kagent_bench.generate.summary import GeneratedOperator, Outcome
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult, GenerationSession
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Provenance
from kagent_bench.model.verdict import OperatorVerdict
from kagent_bench.stores.kernels import KernelState, KernelStore

if TYPE_CHECKING:
    from kagent_bench.config.schema import Settings
    from kagent_bench.hooks.protocols import Generator, Problem
    from kagent_bench.model.selection import OperatorCases

UNSUPPORTED = "unsupported"
"""Reason code of a generator that does not know an operator."""
_DETAIL_LIMIT = 2000
"""Characters of a plugin's words that are kept: an exception may hold a whole prompt."""


class StoppedError(Exception):
    """The user stopped the generation; nothing is to be written any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the generation of every operator shares."""

    store: KernelStore
    name: str
    """The generator's name."""
    generator: Generator
    settings: Settings
    tolerance: Mapping[str, float]
    device: str
    judge_factory: Callable[[OperatorCases], Judge]
    stopped: threading.Event = field(default_factory=threading.Event)
    writing: threading.Lock = field(default_factory=threading.Lock)
    """Held while something is written, and while ``stopped`` is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ended:
    """How the generator's call ended."""

    outcome: Outcome
    reason: str = ""
    detail: str = ""
    source: str | None = None
    claimed: tuple[Attempt, ...] = ()
    """Attempts that the generator tells of."""
    details: Mapping[str, str | int | float | None] = field(default_factory=dict)


def generate_operator(item: OperatorCases, work: Work) -> GeneratedOperator:
    """Return what became of one operator, promoted and stored.

    Raises:
        StoppedError: the user stopped the generation meanwhile.
    """
    started = time.monotonic()
    if item.fault is not None:
        return _operator(item, Outcome.UNSUPPORTED, reason=item.fault.reason, detail=item.fault.detail)
    try:
        problem = build_problem(item, work.tolerance)
        standing = examine(work.store, problem)
        known = None if work.settings.generate.force else _known(standing, work)
        result = known or _Generation(item, problem, standing, work).run(started)
    except KabError as error:
        result = _operator(item, Outcome.ERROR, reason=type(error).__name__, detail=error.message)
    kernel = work.store.find(item.operator)
    return replace(
        result,
        duration_s=time.monotonic() - started,
        kernel_path=None if kernel is None else str(kernel.path),
    )


def _operator(
    item: OperatorCases, outcome: Outcome, *, reason: str = "", detail: str = ""
) -> GeneratedOperator:
    return GeneratedOperator(op_name=str(item.operator), outcome=outcome, reason=reason, detail=detail)


def _known(standing: Standing, work: Work) -> GeneratedOperator | None:
    """Return the outcome of an operator that needs no generation, else None."""
    if standing.kernel is None:
        return None
    name = str(standing.kernel.operator)
    if standing.state is KernelState.FOREIGN:
        detail = f"{standing.kernel.path} was written or changed by hand; --force replaces it"
        return GeneratedOperator(op_name=name, outcome=Outcome.KEPT, reason="by_hand", detail=detail)
    if not standing.made_by(work.name, work.generator.version):
        return None
    if not standing.usable:
        detail = "the evaluator refused this generator's kernel before; --force tries again"
        return GeneratedOperator(
            op_name=name, outcome=Outcome.FAILED, reason=standing.verdict or "", detail=detail
        )
    return GeneratedOperator(op_name=name, outcome=Outcome.UP_TO_DATE, verified=standing.verified)


def _attempt_limit(work: Work) -> int:
    """Return the kernels that may be judged for one operator: what the user says, else the generator."""
    given = work.settings.generate.max_attempts
    if given:
        return given
    return work.generator.max_attempts if isinstance(work.generator, GenerationSession) else 1


class _Generation:
    """One operator's generation, from the request to the promoted kernel."""

    def __init__(self, item: OperatorCases, problem: Problem, standing: Standing, work: Work) -> None:
        self._item = item
        self._problem = problem
        self._standing = standing
        self._work = work
        self._created = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._limit = _attempt_limit(work)
        self._judge = RecordingJudge(lambda: work.judge_factory(item), self._keep, limit=self._limit)
        self._judging = self._limit > 1 or bool(getattr(work.generator, "wants_verdict", False))

    def run(self, started: float) -> GeneratedOperator:
        """Ask, judge, choose, promote."""
        ended = self._judged(self._ask())
        self._judge.close()
        for attempt in ended.claimed:
            self._keep_claim(attempt)
        source, verdict = self._best(ended)
        promoted = source is not None and self._promote(source, verdict, ended, time.monotonic() - started)
        ended = self._outcome(ended, verdict, promoted=promoted)
        correct = verdict == OperatorVerdict.CORRECT.value
        return GeneratedOperator(
            op_name=str(self._item.operator),
            outcome=ended.outcome,
            reason=ended.reason,
            detail=ended.detail[:_DETAIL_LIMIT],
            verified=correct if promoted else self._standing.verified,
            attempts=len(self._judge.attempts),
        )

    def _judged(self, ended: _Ended) -> _Ended:
        """Have the generator's kernel judged, where that is wanted and has not been done."""
        if ended.source is None or not self._judging or self._judge.verdict_of(ended.source) is not None:
            return ended
        try:
            self._judge.judge(ended.source)
        except KabError as error:
            detail = f"the kernel could not be judged: {error.message}"
            return replace(ended, outcome=Outcome.ERROR, reason=type(error).__name__, detail=detail)
        return ended

    def _outcome(self, ended: _Ended, verdict: str | None, *, promoted: bool) -> _Ended:
        """Return the end in the light of what the evaluator said of the best kernel."""
        if promoted and verdict == OperatorVerdict.CORRECT.value:
            return replace(ended, outcome=Outcome.GENERATED)
        if ended.source is None:
            return ended
        if not promoted:
            return replace(ended, outcome=Outcome.KEPT, reason="better", detail=self._why_kept())
        if usable(verdict):
            return ended
        feedback = [attempt.feedback for attempt in self._judge.attempts if attempt.verdict == verdict]
        return replace(ended, outcome=Outcome.FAILED, reason=str(verdict), detail=feedback[-1])

    def _ask(self) -> _Ended:
        work, settings = self._work, self._work.settings
        request = GenerationRequest(
            problem=self._problem,
            device=work.device,
            tolerance=work.tolerance,
            judge=self._judge,
            max_attempts=self._limit,
            deadline_s=settings.generate.time_limit_s,
            options=settings.generators.get(work.name, {}),
            judge_part=work.judge_factory,
        )
        answer = call_within(
            lambda: work.generator.generate(request),
            settings.generate.time_limit_s,
            name=f"generate {self._item.operator}",
        )
        if isinstance(answer, Overdue):
            self._judge.close()
            detail = f"abandoned after {settings.generate.time_limit_s:g} s"
            return _Ended(outcome=Outcome.TIMEOUT, reason="time_limit", detail=detail)
        if isinstance(answer, Raised):
            return self._raised(answer.error)
        result = answer.value
        if not isinstance(result, GenerationResult):
            detail = f"generator '{work.name}' returned {type(result).__name__}, not a GenerationResult"
            return _Ended(outcome=Outcome.ERROR, reason="bad_result", detail=detail)
        outcome = Outcome.GENERATED
        if result.source is None:
            outcome = Outcome.UNSUPPORTED if result.reason == UNSUPPORTED else Outcome.FAILED
        return _Ended(
            outcome=outcome,
            reason=result.reason,
            detail=result.detail,
            source=result.source,
            claimed=result.attempts,
            details=result.details,
        )

    @staticmethod
    def _raised(error: BaseException) -> _Ended:
        if isinstance(error, OutOfAttemptsError):
            return _Ended(outcome=Outcome.FAILED, reason="out_of_attempts", detail=str(error))
        text = error.message if isinstance(error, KabError) else str(error)
        return _Ended(outcome=Outcome.ERROR, reason=type(error).__name__, detail=text)

    def _best(self, ended: _Ended) -> tuple[str | None, str | None]:
        """Return the best kernel and its verdict, the latest of equals; Nones if there is no kernel at all."""
        kernels: list[tuple[str, str | None]] = [
            (attempt.source, attempt.verdict) for attempt in self._judge.attempts
        ]
        if ended.source is not None:
            kernels.append((ended.source, self._judge.verdict_of(ended.source)))
        if not kernels:
            return None, None
        return max(reversed(kernels), key=lambda kernel: rank(kernel[1]))

    def _promote(self, source: str, verdict: str | None, ended: _Ended, duration_s: float) -> bool:
        """Promote a kernel unless a better one is there; return whether it was promoted."""
        forced = self._work.settings.generate.force and usable(verdict)
        if rank(verdict) < self._standing.rank and not forced:
            if self._judge.verdict_of(source) is None:
                self._keep(Attempt(source=source, verdict=OperatorVerdict.NOT_JUDGED.value, feedback=""))
            return False
        provenance = Provenance(
            operator=self._item.operator,
            sha256=source_digest(source.encode()),
            generator=self._work.name,
            generator_version=self._work.generator.version,
            problem_sha256=self._problem.sha256,
            created=self._created,
            verified=verdict == OperatorVerdict.CORRECT.value,
            attempts=max(1, len(self._judge.attempts)),
            duration_s=duration_s,
            details={**ended.details, VERDICT: verdict},
        )
        if self._standing.state is KernelState.FOREIGN:
            self._keep_replaced()
        with self._work.writing:
            self._refuse_if_stopped()
            self._work.store.promote(self._item.operator, source, provenance)
        return True

    def _keep_replaced(self) -> None:
        """Store the work of somebody before it is replaced."""
        if self._standing.kernel is not None:
            source = self._work.store.read_source(self._standing.kernel).decode(errors="replace")
            feedback = f"{self._standing.kernel.path.name}, written by hand, replaced by --force"
            self._keep(Attempt(source=source, verdict=OperatorVerdict.NOT_JUDGED.value, feedback=feedback))

    def _keep_claim(self, attempt: Attempt) -> None:
        """Store an attempt that only the generator tells of: its verdict is hearsay."""
        if self._judge.verdict_of(attempt.source) is None:
            feedback = f"the generator says {attempt.verdict}: {attempt.feedback}"
            self._keep(replace(attempt, verdict=OperatorVerdict.NOT_JUDGED.value, feedback=feedback))

    def _keep(self, attempt: Attempt) -> None:
        origin = {
            "generator": self._work.name,
            "generator_version": self._work.generator.version,
            "problem_sha256": self._problem.sha256,
            "created": self._created,
        }
        with self._work.writing:
            self._refuse_if_stopped()
            self._work.store.add_attempt(self._item.operator, attempt, origin)

    def _refuse_if_stopped(self) -> None:
        if self._work.stopped.is_set():
            raise StoppedError

    def _why_kept(self) -> str:
        made = self._standing.provenance
        author = "somebody" if made is None else f"{made.generator} {made.generator_version}"
        return f"the kernel of {author} is better than the new one, which is stored as an attempt"
