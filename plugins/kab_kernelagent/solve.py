"""Solves one problem: several dialogues at a time, each judged by the evaluator, until one kernel is right.

A run that is repeated from its record takes the recorded exchanges one after another in the order in which they
were judged, so that the same kernel wins; a run that is gone on with finds its replies and verdicts stored.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from kab_kernelagent.budget import OutOfBudgetError
from kab_kernelagent.code.extract import Extracted, Lack, extract
from kab_kernelagent.dialogue import Dialogue
from kab_kernelagent.outcome import CallFailedError, Finish
from kab_kernelagent.pace import NotWantedError
from kab_kernelagent.steps import JUDGED, LACKING, Step
from kab_kernelagent.store import Place
from kagent_bench.generate.attempts import OutOfAttemptsError, OutOfTimeError
from kagent_bench.model.identity import source_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.outcome import Reply
    from kab_kernelagent.prompting import Prompts
    from kab_kernelagent.providers.provider import Message
    from kab_kernelagent.store import RunStore
    from kagent_bench.hooks.protocols import GenerationRequest

MARGIN_S, MARGIN_SHARE = 2.0, 0.1
"""Seconds, and share of the time, before the deadline at which an answer is given: a late one is dropped."""
_REFUSED = "refused"
_REFUSED_DETAIL = "The task was refused."
BUDGET, TIME, ROUNDS, ATTEMPTS = "budget", "time_limit", "rounds", "attempts"
"""Reasons for which a dialogue ends without a kernel, besides those of calls and of replies."""
RESUMABLE = frozenset({BUDGET, TIME, ATTEMPTS})


class Asker(Protocol):
    """Asks the model, or the record."""

    def ask(self, place: Place, messages: tuple[Message, ...], wanted: Callable[[], bool]) -> Reply:
        """Return a reply, see ``calls.Caller.ask``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Why a dialogue, or all of them, ended without a kernel."""

    reason: str
    detail: str
    final: bool
    """Whether going on with the run could not change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What came of a problem."""

    best: Step | None
    """The kernel, None if there is none."""
    end: End | None
    """Why there is none."""


class Solver:
    """Works on one problem. One use."""

    def __init__(
        self,
        request: GenerationRequest,
        *,
        asker: Asker,
        store: RunStore,
        prompts: Prompts,
        options: AgentOptions,
        judging: threading.Semaphore,
        stopped: threading.Event,
        known: Iterable[Step],
    ) -> None:
        """Take the problem and what the run shares.

        Args:
            request: The problem and its judge.
            asker: Where replies come from.
            store: Where steps are kept.
            prompts: The templates.
            options: Dialogues and rounds are read.
            judging: Held while a kernel is judged, so that what is no longer wanted is not.
            stopped: Set when the run ends.
            known: Steps of this problem from before the run was interrupted.
        """
        self._request = request
        self._asker = asker
        self._store = store
        self._options = options
        self._judging = judging
        self._stopped = stopped
        self._known = {(step.dialogue, step.number): step for step in known}
        self._judged = {
            source_digest(step.source.encode()): step for step in self._known.values() if step.source
        }
        operator = request.problem.operator
        self._folder = operator.folder
        self._dialogues = [
            Dialogue(
                prompts,
                statement=request.problem.statement,
                function=operator.kernel_function,
                index=index,
                dialogues=options.agents,
                max_rounds=options.max_rounds,
            )
            for index in range(1, options.agents + 1)
        ]
        margin_s = min(MARGIN_S, MARGIN_SHARE * request.deadline_s)
        self._deadline = time.monotonic() + request.deadline_s - margin_s
        self.threads: list[threading.Thread] = []
        """Those that hold the dialogues; calls under way outlive ``solve``."""
        self._recorded: Step | None = None
        """The step that is being repeated from a record."""
        self._best: Step | None = None
        self._ends: list[End] = []
        self._error: BaseException | None = None
        self._won = False
        self._changed = threading.Condition()

    def solve(self) -> Solution:
        """Run all dialogues at once.

        Raises:
            KabError: the judge cannot work.
        """
        for dialogue in self._dialogues:
            name = f"{self._folder} {dialogue.index}"
            self.threads.append(threading.Thread(target=self._hold, args=(dialogue,), name=name, daemon=True))
        for thread in self.threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(
                lambda: self._won or self._error is not None or len(self._ends) == len(self._dialogues),
                max(self._deadline - time.monotonic(), 0),
            )
            if self._error is not None:
                raise self._error
            self._won = True  # whatever the reason, nobody is to go on
            return self._solution()

    def repeat(self, steps: Iterable[Step], ended: End) -> Solution:
        """Take the recorded exchanges in their order, each judged anew.

        Args:
            steps: The recorded ones.
            ended: Why the recorded dialogues ended, if no kernel comes of them.

        Raises:
            KabError: the record does not fit, or the judge cannot work.
        """
        for recorded in steps:
            dialogue = self._dialogues[recorded.dialogue - 1]
            self._recorded = recorded
            self._advance(dialogue, lambda: True)
        with self._changed:
            self._ends = [ended]
            return self._solution()

    def _hold(self, dialogue: Dialogue) -> None:
        """Hold one dialogue to its end."""
        end: End | None = None
        try:
            end = self._talk(dialogue)
        except BaseException as error:  # noqa: BLE001 - raised again where the problem is waited for
            with self._changed:
                self._error = self._error or error
                self._changed.notify_all()
            return
        with self._changed:
            self._ends.append(end)
            self._changed.notify_all()

    def _talk(self, dialogue: Dialogue) -> End:
        last: Step | None = None
        while not dialogue.over:
            try:
                last = self._advance(dialogue, self._wanted)
            except (NotWantedError, OutOfTimeError):
                return End(
                    reason=TIME, detail=f"no kernel within {self._request.deadline_s:g} s", final=False
                )
            except OutOfBudgetError as error:
                return End(reason=BUDGET, detail=str(error), final=False)
            except OutOfAttemptsError as error:
                return End(reason=ATTEMPTS, detail=str(error), final=False)
            except CallFailedError as error:
                return End(reason=error.outcome.value, detail=error.detail, final=False)
            if last.final and not (self._options.optimize and last.correct):
                break
        if last is not None and last.result == LACKING:
            return End(reason=last.lack, detail=last.detail, final=True)
        detail = f"no kernel was correct after {dialogue.rounds} rounds"
        return End(reason=ROUNDS, detail=detail, final=True)

    def _wanted(self) -> bool:
        return not (self._won or self._stopped.is_set() or time.monotonic() >= self._deadline)

    def _advance(self, dialogue: Dialogue, wanted: Callable[[], bool]) -> Step:
        """Ask once more, and have what comes judged."""
        number = dialogue.exchanges + 1
        place = Place(folder=self._folder, dialogue=dialogue.index, number=number)
        reply = self._asker.ask(place, dialogue.messages(), wanted)
        if not wanted():
            raise NotWantedError
        known = self._known.get((dialogue.index, number))
        found = self._extracted(dialogue, reply)
        if known is not None and known.source == (found.source or ""):
            step = known
        else:
            step = self._step(dialogue.index, number, found, wanted)
            if self._recorded is not None:
                # Times differ from one measurement to the next; what was said of them then is said again.
                step = replace(step, speedup=self._recorded.speedup, timing=self._recorded.timing)
            self._store.append_step(self._folder, step.to_json())
            with self._changed:  # only now, so that in the record nobody refers to what comes later
                if step.result == JUDGED:
                    self._judged.setdefault(source_digest(step.source.encode()), step)
        dialogue.take(step, reply.text)
        self._note(step)
        return step

    def _extracted(self, dialogue: Dialogue, reply: Reply) -> Extracted:
        cut_off = reply.finish is Finish.LENGTH
        found = extract(reply.text, dialogue.function, former=dialogue.last_source, cut_off=cut_off)
        if found.source is None and reply.finish is Finish.REFUSED:
            return replace(found, detail=_REFUSED_DETAIL)
        return found

    def _step(self, dialogue: int, number: int, found: Extracted, wanted: Callable[[], bool]) -> Step:
        if found.source is None:
            lack = _REFUSED if found.detail == _REFUSED_DETAIL else (found.lack or Lack.NO_CODE).value
            return Step(dialogue=dialogue, number=number, result=LACKING, lack=lack, detail=found.detail)
        sha256 = source_digest(found.source.encode())
        with self._changed:
            former = self._judged.get(sha256)
        if self._recorded is not None and not self._recorded.repeated:
            former = None  # two dialogues had it judged at the same time, neither knowing of the other
        if former is not None:
            return replace(former, dialogue=dialogue, number=number, repeated=True)
        while not self._judging.acquire(timeout=_POLL_S):
            if not wanted():
                raise NotWantedError
        try:
            if not wanted():
                raise NotWantedError
            attempt = self._request.judge(found.source)
        finally:
            self._judging.release()
        return Step(
            dialogue=dialogue,
            number=number,
            result=JUDGED,
            source=found.source,
            verdict=attempt.verdict,
            feedback=self._store.redacted(attempt.feedback),
            speedup=attempt.speedup,
            timing=attempt.timing,
        )

    def _note(self, step: Step) -> None:
        with self._changed:
            if self._won or not step.final:
                return
            if self._best is None or _worth(step) > _worth(self._best):
                self._best = step
            if not self._options.optimize:
                self._won = True
            self._changed.notify_all()

    def _solution(self) -> Solution:
        end = None if self._best is not None else _worst(self._ends, self._request.deadline_s)
        return Solution(best=self._best, end=end)


_POLL_S = 0.1
"""Seconds between two looks at whether a kernel is still to be judged."""


def _worth(step: Step) -> tuple[bool, float]:
    return step.correct, step.speedup or 0.0


def _worst(ends: list[End], deadline_s: float) -> End:
    """Return why there is no kernel: what could be different another time before what could not."""
    if not ends:
        return End(reason=TIME, detail=f"no kernel within {deadline_s:g} s", final=False)
    return min(ends, key=lambda end: (end.final, end.reason == TIME, end.reason != ROUNDS))
