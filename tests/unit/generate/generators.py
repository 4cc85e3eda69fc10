"""Small real generators, judges and selections for tests of the driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.artefacts.write import write_artefacts
from kagent_bench.config.schema import GenerateSettings, Settings
from kagent_bench.generate.driver import generate_kernels
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult, Generator
from kagent_bench.model.case import StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName, ProblemName
from kagent_bench.model.progress import Silent
from kagent_bench.model.selection import OperatorCases, Selection

if TYPE_CHECKING:
    from kagent_bench.generate.summary import GeneratedOperator, GenerateSummary

RELU = OperatorName("relu", "default")


ABS = OperatorName("abs", "default")


SIN = OperatorName("sin", "default")


TOLERANCE = {"float32": 1e-6}


def operator_cases(operator: OperatorName, n_cases: int = 6) -> OperatorCases:
    """Return an operator of one float32 argument with some cases."""
    cases = tuple(
        make_case(
            operator,
            (TensorSpec(storage=0, shape=(size,), stride=(1,)),),
            (),
            (StorageSpec(dtype="float32", numel=size, rule=UniformValues(low=-1.0, high=1.0)),),
            dtype="float32",
            origin="direct",
        )
        for size in range(1, n_cases + 1)
    )
    return OperatorCases(operator=operator, kind="value", cases=cases)


def selection(*operators: OperatorName, n_cases: int = 6) -> Selection:
    """Return a selection of these operators."""
    items = tuple(operator_cases(operator, n_cases) for operator in operators)
    return Selection(suite="fake", suite_sha256=f"{n_cases:064}", operators=items)


def kernel(operator: ProblemName, word: str = "first") -> str:
    """Return the text of a kernel file."""
    return f"def {operator.kernel_function}(self):\n    return '{word}'\n"


@dataclass
class Writer:
    """Writes a kernel for every operator, at once and without asking the judge."""

    version: str = "1"
    word: str = "first"
    asked: list[str] = field(default_factory=list)

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return the kernel."""
        operator = request.problem.operator
        self.asked.append(str(operator))
        return GenerationResult(source=kernel(operator, self.word), details={"model": "none"})


@dataclass
class Asker:
    """Tries the words one after the other until the judge accepts one."""

    words: tuple[str, ...]
    version: str = "1"
    wants_verdict: bool = True
    gives_up: bool = False

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return the accepted kernel, or the last one."""
        source = ""
        for word in self.words:
            source = kernel(request.problem.operator, word)
            if request.judge(source).verdict == "correct":
                break
        if self.gives_up:
            return GenerationResult(source=None, reason="gave_up", detail="no idea left")
        return GenerationResult(source=source)


@dataclass
class Sleeper:
    """Ignores its deadline on one operator, then asks the judge."""

    slow: OperatorName = RELU
    version: str = "1"
    release: threading.Event = field(default_factory=threading.Event)
    late: list[BaseException] = field(default_factory=list)

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return a kernel, much too late for one operator."""
        source = kernel(request.problem.operator)
        if request.problem.operator == self.slow:
            self.release.wait(timeout=30)
            try:
                request.judge(source)
            except Exception as error:
                self.late.append(error)
                raise
        return GenerationResult(source=source)


class Judges:
    """Gives judges that accept kernels with the word ``right`` in them, and call ``dunno`` not judged."""

    def __init__(self) -> None:
        """Start with nothing asked."""
        self.built: list[str] = []
        self.asked: list[str] = []

    def __call__(self, item: OperatorCases) -> Callable[[str], Attempt]:
        """Return the judge of one operator."""
        self.built.append(str(item.operator))

        def judge(source: str) -> Attempt:
            self.asked.append(source)
            if "right" in source:
                return Attempt(source=source, verdict="correct", feedback="")
            verdict = "not_judged" if "dunno" in source else "incorrect"
            return Attempt(source=source, verdict=verdict, feedback="wrong at [0]")

        return judge


def settings(base: Path, *, force: bool = False, attempts: int = 1, limit_s: float = 30.0) -> Settings:
    """Return settings for two workers."""
    generate = GenerateSettings(workflow="fake", max_attempts=attempts, time_limit_s=limit_s, force=force)
    return Settings(base_dir=base, num_workers=2, generate=generate, tolerance=TOLERANCE)


def set_up(base: Path, chosen: Selection) -> None:
    """Write the artefacts of a selection."""
    write_artefacts(base, chosen, TOLERANCE, Silent())


def generate(
    chosen: Selection,
    generator: Generator,
    using: Settings,
    judges: Judges | None = None,
    *,
    name: str = "fake",
) -> GenerateSummary:
    """Set up and generate, on a device that needs no looking for."""
    set_up(using.base_dir, chosen)
    return generate_kernels(chosen, name, generator, using, judges or Judges(), Silent(), device="cpu")


def only(summary: GenerateSummary) -> GeneratedOperator:
    """Return the single operator of a summary."""
    (item,) = summary.operators
    return item


def wait_until(true: Callable[[], bool], *, limit_s: float = 10.0) -> bool:
    """Return whether something came true in time."""
    deadline = time.monotonic() + limit_s
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
