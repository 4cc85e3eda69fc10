"""Judges the kernels of a corpus with the real evaluator: one session, as many workers as it has."""

from __future__ import annotations

import math
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from kagent_bench.evaluate.corpus.entries import HONEST
from kagent_bench.evaluate.supervisor import KernelJob, KeyedCase
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Kernel
from kagent_bench.model.verdict import operator_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kagent_bench.evaluate.corpus.entries import Entry
    from kagent_bench.evaluate.session import Session
    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.selection import OperatorCases

HANG_S = 3.0
"""Seconds after which a kernel that may hang, by its verdict, does so; others have all the time of the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the evaluator says of a kernel."""

    verdict: str
    reason: str
    records: tuple[CaseRecord, ...]
    """Of the cases that were judged: no more than the verdict needed."""
    printed: str
    secrecy: str
    """Why secrecy is not claimed; empty if it is."""

    def __str__(self) -> str:
        """Return the verdict and the first cases that are not passed."""
        wrong = [
            f"{record.call} {record.dtype}: {record.status} ({record.reason}) {record.detail}"
            for record in self.records
            if record.reason
        ][:3]
        return "\n".join([f"{self.verdict}({self.reason})", *wrong])


class Judges:
    """Judges kernels in the background."""

    def __init__(self, session: Session, cases: Callable[[Entry], OperatorCases]) -> None:
        """Take an entered session, and what chooses the cases of a kernel."""
        self._session = session
        self._cases = cases
        self._pool = ThreadPoolExecutor(session.n_workers)
        self._free: SimpleQueue[int] = SimpleQueue()
        for worker in range(session.n_workers):
            self._free.put(worker)

    def submit(self, entry: Entry) -> Future[Judgement]:
        """Have a kernel judged."""
        return self._pool.submit(self._judge, entry)

    def _judge(self, entry: Entry) -> Judgement:
        item = self._cases(entry)
        source = entry.path.read_bytes()
        kernel = Kernel(operator=entry.operator, path=entry.path, sha256=source_digest(source))
        keyed = tuple(KeyedCase(case=case, key=case.id) for case in item.cases)
        job = KernelJob(kernel=kernel, source=source, kind=item.kind, cases=keyed)
        worker = self._free.get()
        try:
            supervisor = self._session.supervisor(worker).within(
                startup_s=HANG_S if entry.allows("timeout", "startup") else math.inf,
                call_s=HANG_S if entry.allows("timeout", "call") else math.inf,
            )
            records: list[CaseRecord] = []
            judging = supervisor.judge(job)
            for record in judging:
                records.append(record)
                # Every case of an honest kernel counts; of the others the first that says what must be said.
                if entry.group != HONEST and entry.allows(*_verdict(records)):
                    break
            del judging  # ends the candidate where cases are left
            contained = supervisor.containment or {}
            verdict, reason = _verdict(records)
            return Judgement(
                verdict=verdict,
                reason=reason,
                records=tuple(records),
                printed=supervisor.printed,
                secrecy=str(contained.get("secrecy_reason", "")),
            )
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """Let the running judgements end and drop the others."""
        self._pool.shutdown(cancel_futures=True)


def _verdict(records: Sequence[CaseRecord]) -> tuple[str, str]:
    verdict, reason = operator_verdict([record.judged() for record in records], has_kernel=True)
    return verdict.value, reason
