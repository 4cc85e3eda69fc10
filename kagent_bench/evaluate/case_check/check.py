"""Tries cases in eager PyTorch, in processes of their own, and marks what is weak about them."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from enum import Enum
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import process_environment
from kagent_bench.evaluate.environment import trusted_environment
from kagent_bench.evaluate.tolerance import tolerance_table
from kagent_bench.model.identity import encode_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.aten import aten_schemas
from kagent_bench.suites.retype import widened
from kagent_bench.suites.trace.draft import NoCase
from kagent_bench.suites.trace.export import traced_call
from kagent_bench.suites.trace.reduce import reductions
from kagent_bench.suites.trace.suite import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import Case
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import OperatorCases, Selection

LAUNCH_BOUND_BYTES = 2 << 20
"""Inputs that a GPU of 3 TB/s reads in 0.7 us, a third of what launching a kernel takes."""
SMALL_BYTES = 1 << 17
"""Inputs up to which a case is tried as it is at first; larger ones as a smaller call of the same sort, if any runs."""
LARGEST_BYTES = 64 << 20
"""Inputs up to which a call is tried in the end."""
MAX_PROCESSES = 4
"""Processes that try cases at a time, each of which holds torch and up to a GPU's context."""
PATIENCE_S = 180
"""Seconds after which a process is given up that does not keep to its own limits, inside of one operator."""


class Mark(str, Enum):
    """What is to be said of a case."""

    UNRUNNABLE = "unrunnable"
    """Eager PyTorch does not take it here."""
    DEGENERATE = "degenerate"
    """The results have no elements, or are all the same number whatever the inputs."""
    WEAK = "weak"
    """A trivial output, as zeros or the input, would be taken for right."""
    LAUNCH_BOUND = "launch_bound"
    """So little is read that a GPU spends its time launching."""
    NO_KERNEL = "no_kernel"
    """This device has no kernel for its precisions; with float32 in their place it runs."""
    UNTRIED = "untried"
    """Too large for this machine, and no smaller call of its sort runs."""

    def __str__(self) -> str:
        """Return the word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCheck:
    """What came of trying a case out."""

    marks: tuple[Mark, ...]
    detail: str
    """Why it does not run as it is, or which trivial outputs pass."""
    tried: str
    """``full``, ``reduced`` for a smaller call, ``widened`` for one of either size in float32, or ``no``."""


def check_selection(selection: Selection, progress: Progress) -> dict[tuple[str, str], CaseCheck]:
    """Try every kept case; returns what came of it by operator and case id."""
    wanted = [
        (case, item)
        for item in selection.operators
        if isinstance(item.operator, OperatorName)
        for case in item.cases
    ]
    found: dict[tuple[str, str], CaseCheck] = {}
    idle: SimpleQueue[_Trier] = SimpleQueue()

    def check(case: Case, item: OperatorCases) -> CaseCheck:
        trier = idle.get()
        try:
            return trier.check(case, item)
        finally:
            idle.put(trier)

    n_processes = min(MAX_PROCESSES, len(os.sched_getaffinity(0)), len(wanted))
    progress.begin("check", len(wanted))
    with ExitStack() as stack:
        for _ in range(n_processes):
            idle.put(stack.enter_context(closing(_Trier())))
        pool = ThreadPoolExecutor(max(n_processes, 1))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        pending = {pool.submit(check, case, item): (case, item) for case, item in wanted}
        for future in as_completed(pending):
            case, item = pending[future]
            result = found[str(item.operator), case.id] = future.result()
            words = ", ".join(map(str, result.marks)) or "good"
            progress.done(f"{item.operator} {case.id}", words, ok=Mark.UNRUNNABLE not in result.marks)
    progress.finish()
    return {(str(item.operator), case.id): found[str(item.operator), case.id] for case, item in wanted}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """One call that is tried for a case."""

    case: Case
    alike: bool
    """Whether its results say something of those of the case."""


class _Trier:
    """Has cases tried by a child process, and starts another one where eager PyTorch took it down."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._limits = {name: limits.relative for name, limits in tolerance_table({}).items()}

    def close(self) -> None:
        """End the child process."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def check(self, case: Case, item: OperatorCases) -> CaseCheck:
        """Try a case, as it is or smaller."""
        marks = [Mark.LAUNCH_BOUND] if case.input_bytes < LAUNCH_BOUND_BYTES else []
        attempts = list(_attempts(case))
        if not attempts:
            return CaseCheck(marks=(*marks, Mark.UNTRIED), detail=_too_large(case), tried="no")
        reply = self._ask(case, item.kind, attempts)
        detail, tried = reply["detail"], "reduced"
        if reply["tried"] < 0:
            # What a smaller call was refused for may be of its own making.
            itself = attempts[-1].case.id == case.id
            unrunnable = reply["why"] in {"no_kernel", "misfit"} or (reply["why"] == "refused" and itself)
            wider = (
                self._ask_wider(case, item.kind, attempts)
                if reply["why"] in {"no_kernel", "refused"}
                else None
            )
            if wider is None:
                mark = Mark.UNRUNNABLE if unrunnable else Mark.UNTRIED
                detail = detail if unrunnable or itself else _too_large(case)
                return CaseCheck(marks=(*marks, mark), detail=detail, tried="no")
            marks.append(Mark.NO_KERNEL)
            own = (
                detail
                if reply["why"] == "no_kernel"
                else "this device does not take it in its own precisions"
            )
            weak = f", where it is {wider['detail']}" if wider["detail"] else ""
            reply, detail, tried = wider, f"{own}; runs in float32{weak}", "widened"
        elif attempts[reply["tried"]].case.id == case.id:
            tried = "full"
        return CaseCheck(marks=(*marks, *(Mark(mark) for mark in reply["marks"])), detail=detail, tried=tried)

    def _ask_wider(self, case: Case, kind: str, attempts: list[_Attempt]) -> dict[str, Any] | None:
        """Try a case with float32 in place of every narrower dtype; None where it has none or does not run."""
        wide = widened(case)
        wider = [
            replace(attempt, case=other)
            for attempt in attempts
            if (other := widened(attempt.case)) is not None
        ]
        reply = self._ask(wide, kind, wider) if wide is not None and wider else None
        return reply if reply is not None and reply["tried"] >= 0 else None

    def _ask(self, case: Case, kind: str, attempts: list[_Attempt]) -> dict[str, Any]:
        encoded = [{"case": encode_case(attempt.case), "alike": attempt.alike} for attempt in attempts]
        request = {
            "case": encode_case(case),
            "kind": kind,
            "attempts": encoded,
            "relative": self._limits,
        }
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        line, in_time = "", True
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            in_time = bool(select.select([child.stdout], [], [], PATIENCE_S)[0])
            line = child.stdout.readline() if in_time else ""
        except OSError:
            pass
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        self.close()
        if not in_time:
            return {"tried": -1, "why": "too_large", "detail": "takes too long here"}
        # One of several may have been a smaller call that torch does not check.
        last = {"tried": -1, "why": "refused", "detail": "eager PyTorch took its process down"}
        for index, attempt in enumerate(attempts if len(attempts) > 1 else ()):
            last = self._ask(case, kind, [attempt])
            if last["tried"] == 0:
                return {**last, "tried": index}
        return last

    def _start(self) -> subprocess.Popen[str]:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "kagent_bench.throwaway", "kagent_bench.evaluate.case_check.attempt"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=trusted_environment(process_environment(), interpreter=False),
        )
        assert self._child.stdout is not None
        self._child.stdout.readline()  # that it is ready, which takes a busy machine a while
        return self._child


def _too_large(case: Case) -> str:
    return f"{case.input_bytes >> 20} MiB of inputs are too much to try here, and no smaller call of its sort runs"


def _attempts(case: Case) -> Iterator[_Attempt]:
    """Yield what is tried for a case: itself first where it is small, last where it is not, and smaller calls between.

    Those that are small come in the order of how much they are alike, the others by their size.
    """
    itself = _Attempt(case=case, alike=True)
    if case.input_bytes <= SMALL_BYTES:
        yield itself
        return
    smaller = _smaller(case)
    small = [attempt for attempt in smaller if attempt.case.input_bytes <= SMALL_BYTES]
    large = [attempt for attempt in smaller if attempt.case.input_bytes > SMALL_BYTES]
    yield from small
    for attempt in (*sorted(large, key=lambda attempt: attempt.case.input_bytes), itself):
        if attempt.case.input_bytes <= LARGEST_BYTES:
            yield attempt


def _smaller(case: Case) -> list[_Attempt]:
    """Return smaller calls of the sort of a case, the most alike first, each once."""
    schema = aten_schemas().get(case.operator) if isinstance(case.operator, OperatorName) else None
    if schema is None:
        return []
    found: dict[str, _Attempt] = {}
    for reduction in reductions(traced_call(case), schema):
        try:
            made = make(reduction.call, schema)
        except NoCase:
            continue
        if made.input_bytes < case.input_bytes:
            found.setdefault(made.id, _Attempt(case=made, alike=reduction.alike))
    return list(found.values())
