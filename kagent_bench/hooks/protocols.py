"""What the implementations behind entries must provide. A plugin author needs this page and ``specs``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.program import Module
    from kagent_bench.model.selection import OperatorCases
    from kagent_bench.model.spending import Spending
    from kagent_bench.model.summary import RunSummary


# --- generators ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a generator is asked to implement."""

    operator: ProblemName
    statement: str
    """The problem in words (Markdown): schema or module, documentation, semantics, dtypes, cases, tolerance."""
    test_source: str
    """Self-contained Python test of the development cases."""
    cases: tuple[Case, ...]
    """The development cases; held-out cases are never shown."""
    sha256: str
    """Hash of all the above."""
    module: Module | None = None
    """Of a module problem: its program, the reference as a graph of ATen calls; None for an operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A kernel that was tried and what the evaluator said of it."""

    source: str
    verdict: str
    """An operator verdict, see ``model.verdict``."""
    feedback: str
    """What went wrong, in words that a kernel author can act on; empty for a correct kernel."""
    speedup: float | None = None
    """Of a correct kernel over eager, where a session asked for times and the device can be timed."""
    timing: str = ""
    """The slowest cases in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """One problem for one generator, with the limits it must keep."""

    problem: Problem
    device: str
    """Kind of device that the kernel will be judged on: ``cuda``, ``rocm``, ``xpu`` or ``cpu``."""
    tolerance: Mapping[str, float]
    """Tolerance factor per dtype: the same table that the evaluator uses."""
    judge: Callable[[str], Attempt]
    """Judges a source text on the development cases with the real evaluator."""
    max_attempts: int = 1
    """Kernels that ``judge`` may be asked about."""
    deadline_s: float = 600.0
    """Seconds from now after which the result is dropped."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The generator's own table in the configuration: ``[generators.<name>]``."""
    judge_part: Callable[[OperatorCases], Callable[[str], Attempt]] | None = None
    """Gives the judge of another problem, such as a part of this one; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationResult:
    """A kernel, or why there is none."""

    source: str | None
    """The kernel file's text, exporting ``<folder>_kernel_impl``."""
    reason: str = ""
    """Why there is no kernel: a reason code such as ``unsupported``; empty when there is one."""
    detail: str = ""
    """The reason in words."""
    attempts: tuple[Attempt, ...] = ()
    """What was judged on the way, oldest first."""
    details: Mapping[str, str | int | float | None] = field(default_factory=dict)
    """For the provenance: model, route, cost."""

    def __post_init__(self) -> None:
        """Refuse a result that is neither a kernel nor a reason, or both.

        Raises:
            ValueError: exactly one of source and reason must be given.
        """
        if (self.source is None) != bool(self.reason):
            message = "a generation result is either a source or a reason"
            raise ValueError(message)


@runtime_checkable
class Generator(Protocol):
    """Writes kernels. Called from several threads at once, one request each."""

    version: str
    """Changes when the same request may give another kernel; part of what makes a kernel up to date."""

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return a kernel or a reason; an exception is recorded as this operator's failure."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRun:
    """What a session of a generator is told before the first problem."""

    options: Mapping[str, Any]
    """The generator's own table in the configuration."""
    base_dir: Path
    """The kernels folder."""
    device: str
    """Kind of device that kernels will be judged on, see ``GenerationRequest``."""
    judging: Mapping[str, Any]
    """Settings and versions that verdicts depend on, as JSON."""
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The tables of all generators, for one that hands problems on to others."""


@runtime_checkable
class GenerationSession(Generator, Protocol):
    """A generator with a state for one run of ``kab generate``: logs, budgets, connections."""

    operators_at_once: int
    """Problems that are worked on at a time where the user does not say; 0 for one per core."""
    max_attempts: int
    """Kernels that may be judged for one operator where the user does not say."""
    wants_times: bool
    """Whether correct kernels are to be timed, where the device can be."""
    secret_paths: tuple[Path, ...]
    """What candidates must not reach, besides the kernels folder."""
    judge_seed: bytes
    """32 bytes from which the judge draws its inputs: feedback is the same where the seed is."""
    run_name: str
    """Names the run; the same when an interrupted one is gone on with."""

    def spending(self, operator: ProblemName) -> Spending | None:
        """Return what the operator took in this run so far; None if it was not worked on."""
        ...

    def close(self, *, interrupted: bool) -> None:
        """End the session: called once, whatever happened; ``interrupted`` asks for haste."""
        ...


@runtime_checkable
class SessionGenerator(Generator, Protocol):
    """A generator that wants a session; ``generate`` on itself is for a single problem."""

    def check(self, options: Mapping[str, Any]) -> None:
        """Raise a ``KabError`` where no work can be done with these options; called before any work."""
        ...

    def open(self, run: GenerationRun) -> GenerationSession:
        """Begin a session, or go on with an interrupted one."""
        ...


# --- dtype filters ------------------------------------------------------------------------------------------


@runtime_checkable
class DtypeFilter(Protocol):
    """Keeps the cases of some dtypes. Several chosen filters keep what any of them keeps."""

    @property
    def dtypes(self) -> frozenset[str]:
        """The case dtypes (torch's names) that this filter can keep: a suite need not build the others."""
        ...

    def skip_reason(self, case: Case) -> str | None:
        """Return None to keep the case, else why it is skipped; an empty reason is an error."""
        ...


# --- suites -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """What is wanted from a suite. Hints: a suite may return more, never less."""

    operators: frozenset[ProblemName] | None = None
    """Only these; None for all."""
    dtypes: frozenset[str] | None = None
    """Only cases of these dtypes (torch's names); None for all."""
    cases_per_operator: int | None = None
    """At most so many per operator and dtype, the diverse ones; None for the suite's default, 0 for all."""
    files: tuple[str, ...] = ()
    """Files or folders that the user named for the suite to read."""
    note: Callable[[str], None] | None = None
    """Told what takes long, such as building the suite; may be called from another thread."""


@runtime_checkable
class Suite(Protocol):
    """A named set of operators with cases."""

    def content_sha256(self) -> str:
        """Return a hash of the suite's content, the same on every machine with the same versions."""
        ...

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ProblemName, ...]:
        """Return the operators that have cases of the request's dtypes, sorted; without a request, all."""
        ...

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with their cases, sorted by name; ``skipped`` holds what the suite left out."""
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """A suite that reads the files which the user names, from ``SuiteRequest.files``; a suite need not do this."""

    reads_files: bool


@runtime_checkable
class TellsItsData(Protocol):
    """A suite that reads data from somewhere; a suite need not do this."""

    def data_notes(self) -> Sequence[str]:
        """Return which data of which revision was used, and what of it could not be; stored with each run."""
        ...


@runtime_checkable
class TellsUnreadLines(Protocol):
    """A suite that reads files line by line; a suite need not do this."""

    def unread_lines(self) -> Sequence[str]:
        """Return every line that could not be read, as ``file:line:column: reason``; listed, and not stored."""
        ...


# --- reports ------------------------------------------------------------------------------------------------


@runtime_checkable
class ReportFormat(Protocol):
    """Turns a run's summary into text; imports neither torch nor triton."""

    def render(self, summary: RunSummary, *, cases: bool) -> str:
        """Return the report, with one row per case where ``cases`` is true."""
        ...


# --- executors ----------------------------------------------------------------------------------------------

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")


@runtime_checkable
class Executor(Protocol):
    """Spreads jobs over workers."""

    def map(
        self, work: Callable[[int, JobT], ResultT], jobs: Iterable[JobT], *, n_workers: int
    ) -> Iterator[ResultT]:
        """Run ``work(worker_index, job)`` for every job, at most one job per worker at a time.

        Results come as they are ready. An exception of ``work`` is a harness fault: it ends the iteration
        after the running jobs are done.
        """
        ...
