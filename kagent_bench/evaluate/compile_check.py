"""Whether the kernels that were interpreted also compile for a named GPU target, tried in a process of their own.

Triton's interpreter runs Python: NumPy inside a kernel gives right results there, and no compiler takes it. So the
first case of each kind of launch is called once more, in a contained process without a GPU in which Triton generates
code instead of interpreting. What that process says is evidence, not proof, as is all that is seen inside a candidate;
it works on zeros in memory of its own, so that nothing passes from it to the process that is judged.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import KabError
from kagent_bench.evaluate.arena import Arena
from kagent_bench.evaluate.candidate_process import Candidate, CandidateLimits, Died, TimedOut

if TYPE_CHECKING:
    from kagent_bench.evaluate.processes import ForkServer
    from kagent_bench.model.kernel import Kernel

COMPILED = "compiled"
"""Outcome of launches that compile."""
UNAVAILABLE = "unavailable: "
"""Before the reason why it is not known whether they do."""
MAX_CHECKS = 24
"""Cases of one kernel file that are called for other types of arguments than before."""
MAX_LOST_SERVERS = 3
"""Servers that are started again; what brings down more is not tried any more."""
MAX_VALUE_CHECKS = 3
"""Cases that are called for other compile time values only, such as block sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the check found for the launches of a case."""

    fault: str = ""
    """Why a kernel does not compile."""
    unknown: str = ""
    """Why it is not known whether all of them do."""

    @property
    def word(self) -> str:
        """What is recorded of it."""
        if self.fault:
            return f"fails: {self.fault}"
        return f"{UNAVAILABLE}{self.unknown}" if self.unknown else COMPILED


@dataclass(frozen=True, slots=True)
class LaunchKind:
    """A kind of launch as a candidate names it, see ``candidate.signatures``."""

    kernel: str
    types: str
    values: str

    @classmethod
    def read(cls, said: object) -> frozenset[LaunchKind]:
        """Read what a candidate says; what has another form is left out."""
        items = said if isinstance(said, list) else []
        return frozenset(
            cls(*item)
            for item in items
            if isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item)  # noqa: PLR2004
        )


class CompileServer:
    """The fork server in which Triton compiles, started for the first launch; shared by all workers.

    Where a machine holds processes in badly a kernel can bring it down; then another one is started, for other kernels.
    """

    def __init__(self, start: Callable[[], ForkServer], target: str) -> None:
        """Take what starts the server, and the target, see ``evaluate.compile_target``."""
        self._start = start
        self._lock = threading.Lock()
        self._server: ForkServer | None = None
        self._ready = False
        self._lost = 0
        self.target = target

    def get(self) -> ForkServer:
        """Return the server when it is ready, started at the first use.

        Raises:
            HarnessFault: it does not start.
        """
        with self._lock:
            server = self._server = self._server or self._start()
            if self._ready:
                return server
            try:
                server.wait_ready()
            except KabError:
                self._lose(server)
                raise
            self._ready = True
            return server

    def lose(self, server: ForkServer | None) -> None:
        """Give up a server that no longer answers; the next use starts another one, unless too many were lost."""
        with self._lock:
            self._lose(server)

    def _lose(self, server: ForkServer | None) -> None:
        if server is None or server is not self._server or self._lost >= MAX_LOST_SERVERS:
            return
        self._lost += 1
        self._server, self._ready = None, False
        server.stop()

    def stop(self) -> None:
        """End it, and with it every process that it forked."""
        if self._server is not None:
            self._server.stop()


@dataclass(slots=True)
class CompileCheck:
    """The check of one kernel file: a process for it, and what is known of its launches."""

    server: CompileServer
    kernel: Kernel
    source: bytes
    limits: CandidateLimits
    module: dict[str, Any] | None = None
    """What a module's class needs; None for an operator."""
    _process: Candidate | None = None
    _from: ForkServer | None = None
    _broken: str = ""
    _known: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    _seen: set[LaunchKind] = field(default_factory=set)
    _value_checks: int = 0

    def outcome(
        self, kinds: frozenset[LaunchKind], call: Mapping[str, Any] | None, deadline: float
    ) -> Outcome:
        """Return what is known of a case's launches, after calling the case if they are of a new kind.

        Args:
            kinds: the launches, as the judged process names them.
            call: the oracle's description of the call.
            deadline: latest time of ``time.monotonic()``.
        """
        if call is not None and self._is_news(kinds):
            self._seen |= kinds
            self._take_in(kinds, self._call(call, deadline))
        if not kinds:
            return Outcome(unknown="the judged process names none of its launches")
        known = [self._known.get((kind.kernel, kind.types)) for kind in kinds]
        found = [item or Outcome(unknown="too many kinds of launches") for item in known]
        faults = sorted(item.fault for item in found if item.fault)
        unknown = sorted(item.unknown for item in found if item.unknown)
        return Outcome(fault="".join(faults[:1]), unknown="".join(unknown[:1]))

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(KabError):  # the server is gone, and its children with it
                process.__exit__(None, None, None)

    def _is_news(self, kinds: Iterable[LaunchKind]) -> bool:
        new = [kind for kind in kinds if kind not in self._seen]
        if not new:
            return False
        if any((kind.kernel, kind.types) not in self._known for kind in new):
            return len(self._known) < MAX_CHECKS
        self._value_checks += 1
        return self._value_checks <= MAX_VALUE_CHECKS

    def _take_in(self, kinds: Iterable[LaunchKind], reply: Mapping[str, Any]) -> None:
        """Add what a call in the compiling process came to; a fault that is known stays."""
        rows = reply.get("kernels")
        said = {item[0]: item for item in (rows if isinstance(rows, list) else ()) if _is_row(item)}
        raised = str(reply.get("raised") or "")
        for kind in kinds:
            row = said.get(kind.kernel)
            if row is not None:
                fault = f"kernel {kind.kernel}, {row[1]}" if row[1] else ""
                outcome = Outcome(fault=fault, unknown=row[2])
            else:
                why = f" ({raised})" if raised else ""
                outcome = Outcome(
                    unknown=f"{kind.kernel} is not launched where launches compute nothing{why}"
                )
            key = (kind.kernel, kind.types)
            if key not in self._known or not self._known[key].fault:
                self._known[key] = outcome

    def _call(self, call: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Have the kernel's host code called once in the compiling process; returns its words, untrusted."""
        if self._broken:
            return {"raised": self._broken}
        arena: Arena | None = None
        try:
            process = self._started()
            arena = Arena(call["arena_bytes"])
            return process.call({"call": call}, (arena.descriptor,), deadline)
        except (Died, TimedOut, KabError, OSError) as error:
            self._broken = _words(error)
            self.close()
            if isinstance(error, KabError):
                self.server.lose(self._from)
            return {"raised": self._broken}
        finally:
            if arena is not None:
                arena.close()

    def _started(self) -> Candidate:
        if self._process is None:
            self._from = self.server.get()
            self._process = Candidate(
                self._from,
                self.kernel,
                self.source,
                "cpu",
                self.limits,
                module=self.module,
                compile_target=self.server.target,
            )
            message = self._process.load()
            if message.get("outcome") != "loaded":
                raise Died(str(message.get("reason")), str(message.get("detail", ""))[:300])
        return self._process


def _is_row(item: object) -> bool:
    return isinstance(item, list) and len(item) == 3 and all(isinstance(part, str) for part in item)  # noqa: PLR2004


def _words(error: Exception) -> str:
    if isinstance(error, TimedOut):
        return "the process that compiles took too long"
    return " ".join(f"the process that compiles: {error}".split())[:300]
