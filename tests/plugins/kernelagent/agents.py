"""Sessions of the agent on small problems, with a judge that reads the source instead of running it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_kernelagent.generator import KernelAgent
from kab_kernelagent.options import DECLARED
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult, GenerationRun, Problem
from kagent_bench.model.names import OperatorName
from tests.plugins.kernelagent import scripts

if TYPE_CHECKING:
    from kab_kernelagent.session import AgentSession
    from kagent_bench.model.spending import Spending


@dataclass
class ReadingJudge:
    """Knows the scripted kernels by their faults."""

    judged: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, source: str) -> Attempt:
        """Return the verdict that the evaluator gives as well."""
        with self.lock:
            self.judged.append(source)
        if "torch.relu" in source:
            return Attempt(source=source, verdict="rejected", feedback="rejected(library_compute): relu")
        if "tl.rectify" in source:
            return Attempt(source=source, verdict="incorrect", feedback="failed(raised): no 'rectify'")
        if "n - 1" in source:
            return Attempt(source=source, verdict="incorrect", feedback="failed(values): worst at [36, 28]")
        return Attempt(source=source, verdict="correct", feedback="")


@dataclass
class Desk:
    """A folder in which sessions of one command are opened, one after another."""

    folder: Path
    judge: ReadingJudge = field(default_factory=ReadingJudge)
    spent: Spending | None = None
    """What the operator that was solved last has taken in its run."""

    def session(self, *, device: str = "cpu", **options: Any) -> AgentSession:
        """Open a session, or go on with the interrupted one."""
        table = {option.name: option.default for option in DECLARED}
        table |= {"model": "m", "agents": 1, "retries": 1, "agent_logs": str(self.folder / "logs"), **options}
        run = GenerationRun(options=table, base_dir=self.folder / "k", device=device, judging={})
        agent = KernelAgent()
        agent.check(table)
        return agent.open(run)

    def solve(
        self, name: str = "relu.default", *, deadline_s: float = 60.0, **options: Any
    ) -> GenerationResult:
        """Have one operator solved in a session of its own."""
        session = self.session(**options)
        try:
            return session.generate(request(name, self.judge, deadline_s=deadline_s))
        finally:
            session.close(interrupted=False)
            self.spent = session.spending(OperatorName.parse(name))

    @property
    def runs(self) -> list[Path]:
        """The runs' folders, oldest first."""
        return sorted((self.folder / "logs").iterdir(), key=lambda path: path.stat().st_mtime_ns)


def request(name: str, judge: Callable[[str], Attempt], *, deadline_s: float = 60.0) -> GenerationRequest:
    """Return a request for an operator."""
    statement = f"# {name}\n\nWrite a Triton kernel that does what PyTorch's operator `aten.{name}` does.\n"
    problem = Problem(
        operator=OperatorName.parse(name), statement=statement, test_source="", cases=(), sha256=name
    )
    return GenerationRequest(
        problem=problem, device="cpu", tolerance={}, judge=judge, max_attempts=99, deadline_s=deadline_s
    )


def named(source: str, name: str = "relu.default") -> str:
    """Return a scripted kernel as it is judged."""
    return source.replace("kernel_function", OperatorName.parse(name).kernel_function)


RIGHT, TAIL, COMPILE = named(scripts.RELU), named(scripts.WRONG_TAIL), named(scripts.NO_COMPILE)
