"""The evaluator as generators see it: a source text goes in, a verdict and actionable words come out.

It judges development cases only, with a seed of its own, and shows its feedback to the generator. The final
verdict is ``kab evaluate``'s, with held-out cases and another seed.
"""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.evaluate.judge_speed import speed
from kagent_bench.evaluate.session import Session
from kagent_bench.evaluate.supervisor import KernelJob, KeyedCase
from kagent_bench.hooks.protocols import Attempt
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Kernel
from kagent_bench.model.verdict import CaseStatus, OperatorVerdict, operator_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from kagent_bench.config.schema import Settings
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.selection import OperatorCases

_WRONG = frozenset(
    {
        CaseStatus.FAILED,
        CaseStatus.REJECTED,
        CaseStatus.CRASHED,
        CaseStatus.TIMEOUT,
        CaseStatus.NOT_RUN,
    }
)
"""Statuses that a kernel's author can do something about."""
MAX_FEEDBACK_CASES = 3
"""Failing cases that are described to a generator."""


class JudgePool:
    """Judges source texts for several threads; the helpers start with the first text."""

    def __init__(self, settings: Settings) -> None:
        """Take the resolved settings."""
        self._settings = settings
        self._seed: bytes | None = None
        self._secret_paths: tuple[Path, ...] = ()
        self._times = False
        self._exit = contextlib.ExitStack()
        self._session: Session | None = None
        self._lock = threading.Lock()
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        """Return itself; nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the helpers."""
        self._exit.close()

    def prepare(self, *, seed: bytes, secret_paths: Sequence[Path], times: bool) -> None:
        """Take a session's wishes; call it before anything is judged.

        Args:
            seed: What inputs are drawn from, so that feedback can be had again.
            secret_paths: What candidates must not reach, besides the kernels folder.
            times: Whether correct kernels are timed, where the device can be.
        """
        self._seed = seed
        self._secret_paths = tuple(secret_paths)
        self._times = times

    def __call__(self, operator_cases: OperatorCases) -> Callable[[str], Attempt]:
        """Return the judge of one operator."""
        return lambda source: self._judge(operator_cases, source)

    def _judge(self, item: OperatorCases, source: str) -> Attempt:
        data = source.encode()
        path = Path(tempfile.gettempdir()) / f"{item.operator.kernel_stem}.py"
        kernel = Kernel(operator=item.operator, path=path, sha256=source_digest(data))
        cases = tuple(KeyedCase(case=case, key=case.id) for case in item.cases if not case.held_out)
        session = self._started()
        worker = self._free.get()
        try:
            job = KernelJob(kernel=kernel, source=data, kind=item.kind, cases=cases, module=item.module)
            records = list(session.supervisor(worker).judge(job))
        finally:
            self._free.put(worker)
        verdict, _ = operator_verdict([record.judged() for record in records], has_kernel=True)
        if verdict is not OperatorVerdict.CORRECT:
            return Attempt(source=source, verdict=verdict.value, feedback=_feedback(records))
        speedup, timing = speed(records)
        return Attempt(source=source, verdict=verdict.value, feedback="", speedup=speedup, timing=timing)

    def _started(self) -> Session:
        with self._lock:
            if self._session is None:
                hidden = [self._settings.base_dir, *self._secret_paths]
                session = Session(self._settings, secret_paths=hidden, times=self._times)
                self._exit.enter_context(session)
                if self._seed is not None:
                    session.reseed(self._seed)
                self._session = session
                for worker in range(session.n_workers):
                    self._free.put(worker)
            return self._session


def _feedback(records: Sequence[CaseRecord]) -> str:
    """Return the worst cases in words, one of each reason first; what could not be judged only if that is all."""
    wrong = [record for record in records if record.status in _WRONG]
    unpassed = [record for record in records if record.status is not CaseStatus.PASSED]
    shown = wrong or unpassed
    by_reason = {f"{record.status}({record.reason})": record for record in reversed(shown)}
    chosen = list(by_reason.values())[:MAX_FEEDBACK_CASES]
    lines = [
        f"{record.status}({record.reason}) for {record.op_name}{record.call}: {record.detail}"
        for record in chosen
    ]
    if len(shown) > len(chosen):
        what = "went wrong" if wrong else "could not be judged"
        lines.append(f"{len(shown)} of {len(records)} cases {what}")
    return "\n".join(lines)
