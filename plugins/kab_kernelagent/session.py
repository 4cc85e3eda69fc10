"""One run of the agent: its folder, its budget, its pace, and every operator's way through it."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kab_kernelagent.account import Account, ended_row
from kab_kernelagent.calls import Caller
from kab_kernelagent.ledger import ENDED, lost_calls, spending_of
from kab_kernelagent.options import NOT_IN_PROMPTS, UPSTREAM, AgentOptions
from kab_kernelagent.outcome import CallOutcome
from kab_kernelagent.prompting import SUFFIX, Prompts
from kab_kernelagent.providers.choose import connect
from kab_kernelagent.redaction import redactor
from kab_kernelagent.replay import Replayer
from kab_kernelagent.solve import MARGIN_S, MARGIN_SHARE, TIME, Asker, End, Solution, Solver
from kab_kernelagent.steps import Step
from kab_kernelagent.store import FINISHED, Place, RunStore
from kab_kernelagent.transcript import write_transcript
from kab_kernelagent.upstream import PublicAgent
from kab_kernelagent.version import VERSION
from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import GenerationResult
from kagent_bench.model.identity import digest

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import GenerationRequest, GenerationRun
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.spending import Spending

_HASTE_S = 5.0
"""Seconds that replies under way are waited for when the user has stopped the run."""


class AgentSession:
    """A ``GenerationSession``. Safe for several threads."""

    def __init__(
        self, options: AgentOptions, run: GenerationRun, store: RunStore, recorded: RunStore | None
    ) -> None:
        """Take an open run, and the record that it repeats, if any."""
        self._options = options
        self._store = store
        self._recorded = recorded
        self._operators: dict[str, ProblemName] = {}
        self._open: set[str] = set()
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._judging = threading.Semaphore(len(os.sched_getaffinity(0)))
        folder = options.prompts if recorded is None else str(recorded.path / "prompts")
        self._prompts = Prompts(folder=folder, device=run.device, max_chars=options.prompt_chars)
        self._solvers: list[Solver] = []
        self._spending: dict[str, Spending] | None = None
        """The sums by operator folder once nothing is added to them any more."""
        self._asker = _asker(options, store, recorded)
        self.version = f"{VERSION}+{options.agent}.{options.model}"
        self.operators_at_once = options.operators_at_once
        self.max_attempts = options.agents * options.max_rounds
        self.judge_seed = store.seed()
        self.run_name = store.path.name
        self.wants_times = options.optimize
        self.secret_paths = (options.agent_logs_dir,)

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Solve one problem, or return what came of it before the run was interrupted."""
        operator = request.problem.operator
        with self._lock:
            self._operators[operator.folder] = operator
            self._open.add(operator.folder)
        stored = self._store.outcome(operator)
        if stored is not None and stored["final"] and stored["problem_sha256"] == request.problem.sha256:
            with self._lock:
                self._open.discard(operator.folder)
            return GenerationResult(
                source=stored["source"],
                reason=stored["reason"],
                detail=stored["detail"],
                details=stored["details"],
            )
        if isinstance(self._asker, PublicAgent):
            result, final = self._ask_public(self._asker, request)
        else:
            result, final = self._result(self._solve(request, self._asker))
        self._store.write_outcome(
            operator,
            {
                "final": final,
                "problem_sha256": request.problem.sha256,
                "source": result.source,
                "reason": result.reason,
                "detail": result.detail,
                "details": dict(result.details),
            },
        )
        if final:
            with self._lock:
                self._open.discard(operator.folder)
        self._tell(operator, result)
        return result

    def spending(self, operator: ProblemName) -> Spending | None:
        """Return what an operator took in this run, None if it was not worked on."""
        if self._spending is None:
            return spending_of(self._store.ledger()).get(operator.folder)
        return self._spending.get(operator.folder)

    def close(self, *, interrupted: bool) -> None:
        """Wait for replies under way, and say whether the run can be gone on with."""
        self._stopped.set()
        self._wait(_HASTE_S if interrupted else self._options.call_timeout)
        for row in () if self._recorded is None else self._recorded.ledger():
            if row.get("folder") in self._operators:
                self._store.append_ledger(row)
        self._spending = spending_of(self._store.ledger())
        if not interrupted:
            self._finish()
        self._store.close()
        if not interrupted and not self._operators and not self._spending:
            self._store.remove()  # all kernels were up to date

    def _wait(self, limit_s: float) -> None:
        """Wait for replies under way, and close the connections."""
        until = time.monotonic() + limit_s
        threads = [thread for solver in self._solvers for thread in solver.threads]
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0))
        if isinstance(self._asker, Caller) and not any(thread.is_alive() for thread in threads):
            self._asker.close()
        if isinstance(self._asker, PublicAgent):
            self._asker.close(max(until - time.monotonic(), 0))

    def _finish(self) -> None:
        """Tell the stories to their ends, and say so where nothing is left to go on with."""
        for folder, operator in self._operators.items():
            stored = self._store.outcome(operator)
            if stored is not None and folder not in self._open:
                self._tell(operator, _told(stored))
        if not self._open:
            self._store.write_facts(state=FINISHED)

    def _ask_public(self, public: PublicAgent, request: GenerationRequest) -> tuple[GenerationResult, bool]:
        told = public.solve(
            request.problem,
            device=request.device,
            deadline_s=request.deadline_s - min(MARGIN_S, MARGIN_SHARE * request.deadline_s),
            stopped=self._stopped.is_set,
        )
        details = {"model": self._options.model, "run": self.run_name, "agent": UPSTREAM}
        result = GenerationResult(source=told.source, reason=told.reason, detail=told.detail, details=details)
        return result, told.final

    def _solve(self, request: GenerationRequest, asker: Asker) -> Solution:
        folder = request.problem.operator.folder
        solver = Solver(
            request,
            asker=asker,
            store=self._store,
            prompts=self._prompts,
            options=self._options,
            judging=self._judging,
            stopped=self._stopped,
            known=_steps(self._store, folder),
        )
        if self._recorded is None:
            with self._lock:
                self._solvers.append(solver)
            return solver.solve()
        stored = self._recorded.outcome(request.problem.operator) or {}
        # A recorded run that was cut off has no end; neither has its repetition.
        ended = End(
            reason=stored.get("reason") or TIME,
            detail=stored.get("detail", ""),
            final=bool(stored.get("final")),
        )
        solution = solver.repeat(_steps(self._recorded, folder), ended)
        self._store.copy_exchanges(
            self._recorded, folder
        )  # also of calls that were answered too late to matter
        return solution

    def _result(self, solution: Solution) -> tuple[GenerationResult, bool]:
        # What it took is kept by ``spending``: replies to other dialogues may still be under way.
        details: dict[str, Any] = {"model": self._options.model, "run": self.run_name}
        if solution.best is not None:
            details |= {"dialogue": solution.best.dialogue, "exchange": solution.best.number}
            return GenerationResult(source=solution.best.source, details=details), True
        assert solution.end is not None
        end = solution.end
        return GenerationResult(source=None, reason=end.reason, detail=end.detail, details=details), end.final

    def _tell(self, operator: ProblemName, result: GenerationResult) -> None:
        ending = "A kernel was found." if result.source else f"No kernel: {result.reason}. {result.detail}"
        write_transcript(
            self._store, str(operator), operator.folder, _steps(self._store, operator.folder), ending
        )


def open_session(options: AgentOptions, run: GenerationRun) -> AgentSession:
    """Begin a run, go on with an interrupted one of the same work, or repeat a recorded one.

    Raises:
        UsageError: the options cannot be used.
    """
    if options.optimize and run.device == "cpu":
        message = "--optimize needs a device on which kernels are timed; on the CPU they are interpreted"
        raise UsageError(message, hint="leave it out here, or choose a GPU with --device")
    redact = redactor()
    if options.replay:
        from pathlib import Path

        recorded = RunStore.read(Path(options.replay), redact)
        told = AgentOptions.read(recorded.facts["options"])
        options = replace(told, agent_logs=options.agent_logs, replay=options.replay)
        facts = _facts(options, run) | {"replay_of": recorded.path.name, "fingerprint": ""}
        store = RunStore.create(options.agent_logs_dir, f"{options.model}-replay", facts, redact)
        store.write_seed(recorded.seed())
        _keep_prompts(
            store, Prompts(folder=str(recorded.path / "prompts"), device=run.device, max_chars=2000)
        )
        return AgentSession(options, run, store, recorded)
    fingerprint = _fingerprint(options, run)
    found = RunStore.resume(options.agent_logs_dir, fingerprint, redact)
    if found is None:
        facts = _facts(options, run) | {"fingerprint": fingerprint}
        found = RunStore.create(options.agent_logs_dir, options.model, facts, redact)
        prompts = Prompts(folder=options.prompts, device=run.device, max_chars=options.prompt_chars)
        _keep_prompts(found, prompts)
    else:
        _settle_lost(found)
    return AgentSession(options, run, found, None)


def _asker(options: AgentOptions, store: RunStore, recorded: RunStore | None) -> Asker | PublicAgent:
    if recorded is not None:
        return Replayer(recorded, store)
    if options.agent == UPSTREAM:
        return PublicAgent(options, store)
    account = Account.opened(options, store)
    provider = connect(account.where, stream=options.stream)
    return Caller(store=store, provider=provider, options=options, account=account)


def _settle_lost(store: RunStore) -> None:
    """Enter into the ledger how the calls ended that were under way when the run was killed."""
    for sent in lost_calls(store.ledger()):
        row = {name: sent[name] for name in ("id", "place", "folder")}
        folder, dialogue, number = str(sent["place"]).rsplit("/", 2)
        place = Place(folder=folder, dialogue=int(dialogue), number=int(number))
        request = store.recorded_request(place)
        reply = None if request is None else store.find_reply(place, request)
        if reply is not None:
            store.append_ledger(ended_row(row, reply))
        else:
            detail = "the run was killed before the reply was stored"
            store.append_ledger({"event": ENDED, **row, "outcome": CallOutcome.LOST.value, "detail": detail})


def _facts(options: AgentOptions, run: GenerationRun) -> dict[str, Any]:
    return {
        "agent_version": VERSION,
        "options": options.to_json(),
        "judging": dict(run.judging),
        "device": run.device,
        "base_dir": str(run.base_dir),
    }


def _fingerprint(options: AgentOptions, run: GenerationRun) -> str:
    """Return the identity of the work: with another one a run cannot be gone on with."""
    asked = {name: value for name, value in options.to_json().items() if name not in NOT_IN_PROMPTS}
    content = {
        "version": VERSION,
        "options": {name: repr(value) for name, value in asked.items()},
        "judging": repr(sorted(run.judging.items())),
        "device": run.device,
        "base_dir": str(run.base_dir.resolve()),
    }
    if options.prompts:
        content["templates"] = Prompts(folder=options.prompts, device=run.device, max_chars=2000).texts()
    return digest(content)


def _keep_prompts(store: RunStore, prompts: Prompts) -> None:
    for name, text in prompts.texts().items():
        if name.endswith(SUFFIX):
            store.write_text("prompts", name, text)


def _steps(store: RunStore, folder: str) -> list[Step]:
    return [Step.from_json(row) for row in store.steps(folder)]


def _told(stored: dict[str, Any]) -> GenerationResult:
    return GenerationResult(source=stored["source"], reason=stored["reason"], detail=stored["detail"])
