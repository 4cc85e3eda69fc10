"""Tries the cases of a selection out in eager PyTorch, in a process of its own, and marks what is weak about them."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import process_environment
from kagent_bench.evaluate.environment import trusted_environment
from kagent_bench.evaluate.tolerance import tolerance_table
from kagent_bench.model.identity import encode_case
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.aten import aten_schemas
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
FULL_BYTES = 16 << 20
"""Inputs up to which a case is tried as it is at first; larger ones as a smaller call of the same sort, if any runs."""
LARGEST_BYTES = 1 << 29
"""Inputs up to which a case is tried as it is in the end."""


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
    """Why it does not run, or which trivial outputs pass."""
    tried: str
    """``full``, ``reduced`` or ``no``."""


def check_selection(selection: Selection, progress: Progress) -> dict[tuple[str, str], CaseCheck]:
    """Try every kept case; returns what came of it by operator and case id."""
    found: dict[tuple[str, str], CaseCheck] = {}
    with closing(_Trier()) as trier:
        progress.begin("check", len(selection.operators))
        for item in selection.operators:
            if not isinstance(item.operator, OperatorName):
                continue
            checks = {case.id: trier.check(case, item) for case in item.cases}
            found |= {(str(item.operator), name): check for name, check in checks.items()}
            n_bad = sum(Mark.UNRUNNABLE in check.marks for check in checks.values())
            progress.done(str(item.operator), f"{n_bad} of {len(checks)} unrunnable", ok=not n_bad)
        progress.finish()
    return found


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
            return CaseCheck(marks=(*marks, Mark.UNTRIED), detail="too large", tried="no")
        reply = self._ask(item.kind, attempts)
        if reply["tried"] < 0:
            mark = Mark.UNTRIED if reply.get("too_large") else Mark.UNRUNNABLE
            return CaseCheck(marks=(*marks, mark), detail=reply["detail"], tried="no")
        marks += [Mark(mark) for mark in reply["marks"]]
        full = attempts[reply["tried"]].id == case.id
        return CaseCheck(marks=tuple(marks), detail=reply["detail"], tried="full" if full else "reduced")

    def _ask(self, kind: str, attempts: list[Case]) -> dict[str, Any]:
        encoded = [encode_case(attempt) for attempt in attempts]
        request = {"kind": kind, "attempts": encoded, "relative": self._limits}
        child = self._child or self._start()
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps(request) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError:
            line = ""
        if line:
            reply: dict[str, Any] = json.loads(line)
            return reply
        self.close()
        return {"tried": -1, "detail": "eager PyTorch took its process down"}

    def _start(self) -> subprocess.Popen[str]:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "kagent_bench.evaluate.case_check.attempt"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=trusted_environment(process_environment(), interpreter=False),
        )
        return self._child


def _attempts(case: Case) -> Iterator[Case]:
    """Yield what is tried for a case, in this order: itself where it is small, else smaller calls before it."""
    if case.input_bytes <= FULL_BYTES:
        yield case
        return
    schema = aten_schemas().get(case.operator) if isinstance(case.operator, OperatorName) else None
    if schema is not None:
        for call in reductions(traced_call(case), schema):
            try:
                smaller = make(call, schema)
            except NoCase:
                continue
            if smaller.input_bytes <= FULL_BYTES:
                yield smaller
    if case.input_bytes <= LARGEST_BYTES:
        yield case
