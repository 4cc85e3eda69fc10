"""Judging one kernel on its cases: oracle and candidate take turns, the supervisor holds clock and records.

After a crash or a hang the kernel gets a new process and goes on with the next case, at most ``MAX_RESTARTS``
times; what is left then is ``not_run``. The candidate's failure is data; a harness failure is an exception.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kagent_bench.evaluate.candidate_process import Candidate, CandidateLimits, Died, TimedOut
from kagent_bench.evaluate.case_end import Ended, is_proof, record_of
from kagent_bench.evaluate.compile_check import CompileCheck, LaunchKind
from kagent_bench.evaluate.module_job import for_candidate, for_oracle
from kagent_bench.evaluate.processes import HelperLost, close_quietly
from kagent_bench.evaluate.timing.conductor import Conductor
from kagent_bench.evaluate.timing.device_lock import device_lock
from kagent_bench.model.identity import encode_case
from kagent_bench.model.verdict import CLAIMED_LIMIT, CaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kagent_bench.evaluate.compile_check import CompileServer
    from kagent_bench.evaluate.processes import ForkServer, Oracle
    from kagent_bench.evaluate.timing.conductor import TimingSettings
    from kagent_bench.model.case import Case
    from kagent_bench.model.kernel import Kernel
    from kagent_bench.model.program import Module
    from kagent_bench.model.record import CaseRecord

DEVICE_FAULT = "device_fault"
"""What a candidate calls a fault after which its device is lost to it."""
MAX_RESTARTS = 2
"""New processes that a kernel gets after crashes and hangs."""
INTERPRETER_LIMITS = re.compile(
    r"not supported in interpreter mode|0 active drivers|not compiled with CUDA|NVIDIA driver|No CUDA GPUs"
    r"|\bis_cuda\b|(?i:cuda (device|gpu|input|tensor)|(expects?|needs?|on|only|requires?) (an? )?(cuda|gpu)\b)"
)
"""What Triton says where its interpreter, and not the kernel, is at its end; what torch, and a kernel that insists on a
GPU, say where there is none."""
VALUE = "value"
"""Kind of an operator whose results are values."""
JUDGED_BY_VALUE = frozenset([VALUE, "module"])
"""Kinds of problem whose results show whether launches did the work."""
_CLEAN = frozenset([CaseStatus.PASSED, CaseStatus.NOT_JUDGED])
"""Ends of a case that leave something to look for."""
_REASON = re.compile(r"[a-z_]{1,40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCase:
    """A case to judge and the key of its record."""

    case: Case
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelJob:
    """One kernel with the cases that are not known yet."""

    kernel: Kernel
    source: bytes
    kind: str
    """How the operator can be judged, see ``model.selection.OperatorCases``."""
    cases: tuple[KeyedCase, ...]
    module: Module | None = None
    """What a module problem is; None for an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """What the supervisor needs to know of the run."""

    limits: CandidateLimits
    kernel_timeout_s: float
    strict: bool = True
    """Whether a kernel whose results are right without its launches, or that does not compile, is rejected."""
    unjudgeable: Mapping[str, str] = field(default_factory=dict)
    """Case dtypes that this machine cannot judge, and why."""
    timing: TimingSettings | None = None
    """How cases that passed are timed; None if they are not."""
    device_lock: Path | None = None
    """File that is locked while the device is timed, so that only one process of this machine does so."""


class Supervisor:
    """Judges kernels, one at a time, with one oracle; a worker of the pool."""

    def __init__(
        self,
        oracle: Oracle,
        server: ForkServer,
        settings: JudgeSettings,
        compile_server: CompileServer | None = None,
    ) -> None:
        """Take a greeted oracle, a ready fork server, and the server that compiles what was interpreted, if any."""
        self._oracle = oracle
        self._server = server
        self._settings = settings
        self._compile_server = compile_server
        self._compile_check: CompileCheck | None = None
        self.containment: dict[str, Any] | None = None
        """What held the last candidate in."""
        self.printed = ""
        """What the last kernel printed."""
        self._unhaunted = False
        """Whether the kernel at hand is still to be tried without its launches."""

    def within(self, *, startup_s: float, call_s: float) -> Supervisor:
        """Return one that shares everything with this one, and waits for a kernel no longer than so many seconds."""
        limits = self._settings.limits
        limits = replace(
            limits,
            startup_timeout_s=min(startup_s, limits.startup_timeout_s),
            call_timeout_s=min(call_s, limits.call_timeout_s),
        )
        settings = replace(self._settings, limits=limits)
        return Supervisor(self._oracle, self._server, settings, self._compile_server)

    def judge(self, job: KernelJob) -> Iterator[CaseRecord]:
        """Yield the record of each case as soon as it is known.

        Raises:
            HarnessFault: the harness cannot go on; no kernel is to blame.
        """
        if self._compile_server is not None:
            self._compile_check = CompileCheck(
                self._compile_server,
                job.kernel,
                job.source,
                self._settings.limits,
                module=for_candidate(job.module),
            )
        try:
            yield from self._judge(job)
        finally:
            if self._compile_check is not None:
                self._compile_check.close()

    def _judge(self, job: KernelJob) -> Iterator[CaseRecord]:
        deadline = time.monotonic() + self._settings.kernel_timeout_s
        restarts = 0
        self._unhaunted = self._settings.strict and job.kind in JUDGED_BY_VALUE
        rest = list(job.cases)
        while rest:
            judged = 0
            for keyed, ended, duration in self._run_process(job, rest, deadline):
                judged += 1
                yield self._record(job, keyed, ended, duration)
                if ended.status in {CaseStatus.CRASHED, CaseStatus.TIMEOUT}:
                    break
            else:
                return
            rest = rest[judged:]
            restarts += 1
            late = time.monotonic() >= deadline
            if late or restarts > MAX_RESTARTS:
                reason = "kernel_timeout" if late else "after_crash"
                detail = (
                    "the kernel's time is used up" if late else f"given up after {restarts} crashes or hangs"
                )
                given_up = Ended(status=CaseStatus.NOT_RUN, reason=reason, detail=detail)
                for keyed in rest:
                    yield self._record(job, keyed, given_up, 0.0)
                return

    def _run_process(
        self, job: KernelJob, cases: Sequence[KeyedCase], deadline: float
    ) -> Iterator[tuple[KeyedCase, Ended, float]]:
        """Run cases in one candidate process until one of them brings it down."""
        self._announce(job)
        device = (self._oracle.machine or {})["torch_device"]
        module = for_candidate(job.module)
        with Candidate(
            self._server, job.kernel, job.source, device, self._settings.limits, module=module
        ) as candidate:
            try:
                refused = self._load(candidate)
                proof: Case | None = None
                for keyed in cases:
                    started = time.monotonic()
                    hopeless = self._settings.unjudgeable.get(keyed.case.dtype)
                    if hopeless is not None:
                        ended = Ended(status=CaseStatus.NOT_JUDGED, reason="interpreter", detail=hopeless)
                    else:
                        ended = refused or self._run_case(candidate, job.kind, keyed.case, deadline)
                        ended = self._with_compile_check(ended, deadline)
                    proven = is_proof(keyed.case, ended)
                    if self._unhaunted and proven:
                        self._unhaunted = False
                        ended = self._try_without_launches(job, keyed.case, deadline) or ended
                    ended = self._time(candidate, job.kind, keyed.case, ended, deadline)
                    proof = keyed.case if proven else proof
                    if keyed is cases[-1] and proof is not None and device != "cpu":
                        ended = self._record_operators(candidate, job.kind, proof, ended, deadline)
                    yield keyed, ended, time.monotonic() - started
            finally:
                self.printed = candidate.printed()

    def _try_without_launches(self, job: KernelJob, case: Case, deadline: float) -> Ended | None:
        """Replay one case in a process where launches do nothing; results right in every round are not their work.

        What else happens there is no fault of the kernel: it was never meant to run like this.
        """
        self._announce(job)
        device = (self._oracle.machine or {})["torch_device"]
        limits, module = self._settings.limits, for_candidate(job.module)
        try:
            with Candidate(
                self._server, job.kernel, job.source, device, limits, module=module, ghost=True
            ) as ghost:
                loaded = ghost.load().get("outcome") == "loaded"
                replayed = self._run_case(ghost, job.kind, case, deadline) if loaded else None
        except (Died, TimedOut):
            replayed = None
        self._announce(job)
        if replayed is None or replayed.status is not CaseStatus.PASSED:
            return None
        detail = (
            "the result is right although no launch did anything: something else than the kernels computes it"
        )
        return Ended(status=CaseStatus.REJECTED, reason="decoy_kernel", detail=detail, tally=replayed.tally)

    def _record_operators(
        self, candidate: Candidate, kind: str, case: Case, ended: Ended, deadline: float
    ) -> Ended:
        """Replay a case that passed while torch itself records: that shows calls of the library that nobody saw.

        Without a device, memory that changed out of sight shows them. It is the last that is asked of a process, since
        recording takes time. What a module's declared calls would be recorded as is not known, so that none is replayed.
        """
        if not self._settings.strict or kind != VALUE or ended.status not in _CLEAN:
            return ended
        replayed = self._run_case(candidate, kind, case, deadline, recording=True)
        return replayed if replayed.status is CaseStatus.REJECTED else ended

    def _time(self, candidate: Candidate, kind: str, case: Case, ended: Ended, deadline: float) -> Ended:
        """Time a case that passed; what the timed calls show can still end it otherwise."""
        settings = self._settings.timing
        if settings is None or kind not in JUDGED_BY_VALUE or ended.status is not CaseStatus.PASSED:
            return ended
        lock = self._settings.device_lock
        with device_lock(lock) if lock else contextlib.nullcontext():
            try:
                outcome = Conductor(self._oracle, settings).time_case(
                    candidate, case, deadline, first_s=ended.first_call_s
                )
            except Died as death:
                return replace(
                    ended,
                    status=CaseStatus.CRASHED,
                    reason=death.reason,
                    detail=f"while timed: {death.detail}",
                )
            except TimedOut:
                return replace(
                    ended, status=CaseStatus.TIMEOUT, reason="timed_call", detail="a timed call hung"
                )
        timed = replace(ended, timing=outcome.timing, untimed=outcome.untimed)
        if not outcome.status:
            return timed
        return replace(timed, status=CaseStatus(outcome.status), reason=outcome.reason, detail=outcome.detail)

    def _announce(self, job: KernelJob) -> None:
        """Tell the oracle that another candidate process begins, and of which problem."""
        self._oracle.request({"do": "kernel", **for_oracle(job.module, job.source)})

    def _with_compile_check(self, ended: Ended, deadline: float) -> Ended:
        """Return how a passed case ends when its kernels were also compiled for the named target."""
        if (
            self._compile_check is None
            or ended.status is not CaseStatus.PASSED
            or not ended.tally.get("launches")
        ):
            return ended
        outcome = self._compile_check.outcome(ended.kinds, ended.call, deadline)
        if outcome.fault and self._settings.strict:
            detail = f"does not compile for {self._compile_check.server.target}: {outcome.fault}"
            return replace(
                ended,
                status=CaseStatus.REJECTED,
                reason="not_compilable",
                detail=detail,
                compile_check=outcome.word,
            )
        return replace(ended, compile_check=outcome.word)

    def _load(self, candidate: Candidate) -> Ended | None:
        """Wait for the kernel file; return how every case ends if it cannot be loaded."""
        try:
            message = candidate.load()
        except Died as death:
            return Ended(
                status=CaseStatus.CRASHED, reason=death.reason, detail=f"while loading: {death.detail}"
            )
        except TimedOut:
            limit = self._settings.limits.startup_timeout_s
            return Ended(
                status=CaseStatus.TIMEOUT, reason="startup", detail=f"loading took more than {limit:g} s"
            )
        self.containment = candidate.containment
        return None if message.get("outcome") == "loaded" else self._failed(message)

    def _run_case(
        self, candidate: Candidate, kind: str, case: Case, deadline: float, *, recording: bool = False
    ) -> Ended:
        try:
            answer, descriptors = self._oracle.request(
                {"do": "open", "case": encode_case(case), "kind": kind}
            )
            request = {"call": answer["call"]} if answer["state"] == "ready" else {}
            call = request.get("call")
            kinds: frozenset[LaunchKind] = frozenset()
            first_call_s: float | None = None
            while answer["state"] != "ended":
                started = time.monotonic()
                try:
                    reply = candidate.call({**request, "recording": recording}, descriptors, deadline)
                finally:
                    close_quietly(*descriptors)
                if first_call_s is None:
                    first_call_s, kinds = time.monotonic() - started, LaunchKind.read(reply.get("kinds"))
                request, descriptors = {}, ()
                if reply.get("outcome") != "returned":
                    return self._failed(reply, first_call_s)
                answer, descriptors = self._oracle.request({"do": "judge", "reply": reply})
        except HelperLost as lost:
            # The oracle holds no candidate code: its death over a case is the reference's doing.
            return Ended(status=CaseStatus.NOT_JUDGED, reason="reference_crashed", detail=str(lost))
        except Died as death:
            return Ended(status=CaseStatus.CRASHED, reason=death.reason, detail=death.detail)
        except TimedOut:
            limit = self._settings.limits.call_timeout_s
            late = time.monotonic() >= deadline
            detail = "the kernel's time is used up" if late else f"one call took more than {limit:g} s"
            return Ended(status=CaseStatus.TIMEOUT, reason="kernel" if late else "call", detail=detail)
        return Ended(
            status=CaseStatus(answer["status"]),
            reason=answer["reason"],
            detail=answer["detail"],
            tally=answer.get("tally", {}),
            first_call_s=first_call_s,
            kinds=kinds,
            call=call,
        )

    def _failed(self, message: Mapping[str, Any], first_call_s: float | None = None) -> Ended:
        """Return how a case ends that the candidate itself reports as failed; it is trusted with no more than that.

        Words for the interpreter's limits, and for a GPU that is missing, can be forged. They are a reason of their own, with
        which no operator becomes ``correct``.
        """
        reason, detail = str(message.get("reason")), str(message.get("detail", ""))
        if (self._oracle.machine or {}).get("interpreter") and INTERPRETER_LIMITS.search(detail):
            text = f"Triton's interpreter cannot run this: {detail}"
            return Ended(
                status=CaseStatus.NOT_JUDGED,
                reason=CLAIMED_LIMIT,
                detail=text,
                first_call_s=first_call_s,
            )
        return Ended(
            status=CaseStatus.FAILED,
            reason=reason if _REASON.fullmatch(reason) else "unknown",
            detail=detail,
            first_call_s=first_call_s,
        )

    def _record(self, job: KernelJob, keyed: KeyedCase, ended: Ended, duration_s: float) -> CaseRecord:
        return record_of(
            keyed.case,
            ended,
            key=keyed.key,
            kernel_sha256=job.kernel.sha256,
            device=(self._oracle.machine or {})["name"],
            duration_s=duration_s,
        )
