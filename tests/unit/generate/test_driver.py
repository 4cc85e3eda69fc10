"""The driver: outcomes, resume, promotion, limits and interruption, with small real generators."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kagent_bench.artefacts.write import write_artefacts
from kagent_bench.config.schema import GenerateSettings, Settings
from kagent_bench.errors import HarnessFault, UsageError
from kagent_bench.generate.attempts import OutOfTimeError
from kagent_bench.generate.driver import generate_kernels
from kagent_bench.generate.summary import GeneratedOperator, GenerateSummary, Outcome
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult, Generator
from kagent_bench.model.case import StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName, ProblemName
from kagent_bench.model.progress import Silent
from kagent_bench.model.selection import OperatorCases, Selection
from kagent_bench.stores.kernels import KernelStore

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


def test_generates_and_resumes(tmp_path: Path) -> None:
    """Every operator gets a kernel; a second generation does none of them again."""
    chosen, writer = selection(ABS, RELU, SIN), Writer()
    first = generate(chosen, writer, settings(tmp_path))
    assert {"generated": 3} == first.counts
    assert ["abs.default", "relu.default", "sin.default"] == [item.op_name for item in first.operators]
    assert first.ok
    stored = KernelStore(tmp_path).provenance(RELU)
    assert stored is not None
    assert ("fake", "1", False) == (stored.generator, stored.generator_version, stored.verified)
    assert "none" == stored.details["model"]
    second = generate(chosen, writer, settings(tmp_path))
    assert {"up_to_date": 3} == second.counts
    assert second.ok
    assert 3 == len(writer.asked)
    assert str(tmp_path / RELU.folder / f"{RELU.kernel_stem}.py") == second.operators[1].kernel_path


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda using: (selection(RELU), Writer(), using, "fake"), False),
        (lambda using: (selection(RELU, n_cases=7), Writer(), using, "fake"), True),
        (lambda using: (selection(RELU), Writer(version="2"), using, "fake"), True),
        (lambda using: (selection(RELU), Writer(), using, "other"), True),
        (lambda using: (selection(RELU), Writer(), settings(using.base_dir, force=True), "fake"), True),
    ],
)
def test_what_makes_a_kernel_out_of_date(
    tmp_path: Path,
    change: Callable[[Settings], tuple[Selection, Writer, Settings, str]],
    again: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """A changed problem, another generator or version, and --force generate again; nothing else does."""
    using = settings(tmp_path)
    generate(selection(RELU), Writer(), using)
    chosen, writer, using, name = change(using)
    result = only(generate(chosen, writer, using, name=name))
    assert (Outcome.GENERATED if again else Outcome.UP_TO_DATE) == result.outcome
    assert ([str(RELU)] if again else []) == writer.asked


def test_work_by_hand_is_kept(tmp_path: Path) -> None:
    """A kernel that was changed by hand is not overwritten, and is said; --force stores it before it goes."""
    using, store = settings(tmp_path), KernelStore(tmp_path)
    generate(selection(RELU), Writer(), using)
    path = store.path(RELU)
    path.write_text("mine = 1\n")
    kept = only(generate(selection(RELU), Writer(version="2"), using))
    assert (Outcome.KEPT, "by_hand", True) == (kept.outcome, kept.reason, kept.ok)
    assert "mine = 1\n" == path.read_text()
    forced = only(generate(selection(RELU), Writer(version="2"), settings(tmp_path, force=True)))
    assert Outcome.GENERATED is forced.outcome
    assert kernel(RELU) == path.read_text()
    assert ["mine = 1\n"] == [item.attempt.source for item in store.attempts(RELU)]


def test_foreign_folder_is_kept(tmp_path: Path) -> None:
    """A kernel without provenance, under a name that BackendBench takes, is left alone."""
    folder = tmp_path / RELU.folder
    folder.mkdir()
    (folder / f"{RELU.kernel_stem}_v1.py").write_text("theirs = 1\n")
    assert Outcome.KEPT is only(generate(selection(RELU), Writer(), settings(tmp_path))).outcome


def test_one_exception_is_one_outcome(tmp_path: Path) -> None:
    """An operator whose generator raises, exits, or returns nonsense is recorded and the others go on."""

    class Bad(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            if request.problem.operator == ABS:
                message = "no such model"
                raise RuntimeError(message)
            if request.problem.operator == SIN:
                return 7  # type: ignore[return-value]
            return super().generate(request)

    summary = generate(selection(ABS, RELU, SIN), Bad(), settings(tmp_path))
    assert ["error", "generated", "error"] == [item.outcome.value for item in summary.operators]
    assert ["RuntimeError", "", "bad_result"] == [item.reason for item in summary.operators]
    assert "no such model" == summary.operators[0].detail
    assert not summary.ok


def test_exit_of_a_generator_is_an_error(tmp_path: Path) -> None:
    """A generator that exits does not end the harness."""

    class Exits(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            raise SystemExit(str(request.problem.operator))

    assert "SystemExit" == only(generate(selection(ABS), Exits(), settings(tmp_path))).reason


@pytest.mark.parametrize(
    ("reason", "outcome"), [("unsupported", Outcome.UNSUPPORTED), ("budget", Outcome.FAILED)]
)
def test_reasons(tmp_path: Path, reason: str, outcome: Outcome) -> None:
    """A generator's refusal keeps its reason and its words, and leaves no kernel."""

    class Refuses(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            return GenerationResult(source=None, reason=reason, detail=f"not {request.problem.operator}")

    result = only(generate(selection(RELU), Refuses(), settings(tmp_path)))
    assert (outcome, reason, "not relu.default") == (result.outcome, result.reason, result.detail)
    assert result.kernel_path is None
    assert not result.ok


def test_overdue_generator_is_abandoned(tmp_path: Path) -> None:
    """A generator that ignores its deadline is given up, the others are not held up, its late work is dropped."""
    sleeper, judges = Sleeper(), Judges()
    summary = generate(selection(ABS, RELU), sleeper, settings(tmp_path, limit_s=0.3), judges)
    assert ["generated", "timeout"] == [item.outcome.value for item in summary.operators]
    sleeper.release.set()
    assert wait_until(lambda: bool(sleeper.late))
    assert isinstance(sleeper.late[0], OutOfTimeError)
    assert [] == judges.asked
    assert KernelStore(tmp_path).find(RELU) is None


def test_judge_is_not_asked_in_vain(tmp_path: Path) -> None:
    """A generator that does not want a verdict, with one attempt allowed, is not judged here."""
    judges = Judges()
    result = only(generate(selection(RELU), Writer(), settings(tmp_path), judges))
    assert ([], []) == (judges.built, judges.asked)
    assert (False, 0) == (result.verified, result.attempts)


@pytest.mark.parametrize(
    ("word", "outcome", "verified"),
    [
        ("right", Outcome.GENERATED, True),
        ("dunno", Outcome.GENERATED, False),
        ("wrong", Outcome.FAILED, False),
    ],
)
def test_final_kernel_is_judged(tmp_path: Path, word: str, outcome: Outcome, *, verified: bool) -> None:
    """With several attempts allowed the final kernel is judged; a refused one is there for evaluate to show."""
    using = settings(tmp_path, attempts=3)
    result = only(generate(selection(RELU), Writer(word=word), using))
    assert (outcome, verified, 1) == (result.outcome, result.verified, result.attempts)
    assert kernel(RELU, word) == KernelStore(tmp_path).path(RELU).read_text()
    again = only(generate(selection(RELU), Writer(word=word), using))
    assert (result.ok, result.verified) == (again.ok, again.verified)
    assert 0 == again.attempts


def test_best_attempt_wins(tmp_path: Path) -> None:
    """Of all attempts the accepted one is promoted, even if the generator returns another or gives up."""
    using = settings(tmp_path, attempts=4)
    result = only(generate(selection(RELU), Asker(("wrong", "right"), gives_up=True), using))
    assert (Outcome.GENERATED, True, 2) == (result.outcome, result.verified, result.attempts)
    store = KernelStore(tmp_path)
    assert kernel(RELU, "right") == store.path(RELU).read_text()
    assert ["incorrect", "correct"] == [item.attempt.verdict for item in store.attempts(RELU)]


def test_last_failed_attempt_is_promoted_unverified(tmp_path: Path) -> None:
    """If nothing is accepted, the last attempt becomes the kernel, so that evaluate shows its failure."""
    asker = Asker(("wrong", "worse"), gives_up=True)
    result = only(generate(selection(RELU), asker, settings(tmp_path, attempts=4)))
    assert (Outcome.FAILED, "gave_up") == (result.outcome, result.reason)
    store = KernelStore(tmp_path)
    assert kernel(RELU, "worse") == store.path(RELU).read_text()
    stored = store.provenance(RELU)
    assert stored is not None
    assert not stored.verified


def test_verified_kernel_outranks(tmp_path: Path) -> None:
    """A refused kernel never replaces a verified one; a verified one replaces an unverified one."""
    using, store = settings(tmp_path, attempts=2), KernelStore(tmp_path)
    generate(selection(RELU), Writer(word="dunno"), using)
    better = only(generate(selection(RELU), Asker(("right",), version="2"), using))
    assert (Outcome.GENERATED, True) == (better.outcome, better.verified)
    force = settings(tmp_path, attempts=2, force=True)
    worse = only(generate(selection(RELU), Asker(("wrong",), version="3"), force))
    assert (Outcome.KEPT, "better", True) == (worse.outcome, worse.reason, worse.verified)
    assert kernel(RELU, "right") == store.path(RELU).read_text()


def test_attempts_are_limited(tmp_path: Path) -> None:
    """A generator gets as many judgements as it may have; what it had is kept."""
    words = tuple(f"wrong{number}" for number in range(9))
    result = only(generate(selection(RELU), Asker(words), settings(tmp_path, attempts=3)))
    assert (Outcome.FAILED, "out_of_attempts", 3) == (result.outcome, result.reason, result.attempts)
    assert kernel(RELU, "wrong2") == KernelStore(tmp_path).path(RELU).read_text()


def test_judge_fault_keeps_the_kernel(tmp_path: Path) -> None:
    """A harness fault while judging is the operator's error and does not lose the kernel."""

    def broken(_: OperatorCases) -> Callable[[str], Attempt]:
        message = "no device"
        raise HarnessFault(message, hint="plug one in")

    chosen, using = selection(RELU), settings(tmp_path, attempts=2)
    set_up(tmp_path, chosen)
    result = only(generate_kernels(chosen, "fake", Writer(), using, broken, Silent(), device="cpu"))
    assert (Outcome.ERROR, "HarnessFault") == (result.outcome, result.reason)
    assert kernel(RELU) == KernelStore(tmp_path).path(RELU).read_text()


def test_claims_are_hearsay(tmp_path: Path) -> None:
    """Attempts that only the generator tells of are stored as not judged, whatever it claims."""

    class Boasts(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            claim = Attempt(source="x = 1\n", verdict="correct", feedback="50x")
            return GenerationResult(source=kernel(request.problem.operator), attempts=(claim,))

    result = only(generate(selection(RELU), Boasts(), settings(tmp_path)))
    assert not result.verified
    assert ["not_judged"] == [item.attempt.verdict for item in KernelStore(tmp_path).attempts(RELU)]


def test_interruption_loses_nothing(tmp_path: Path) -> None:
    """Ctrl-C while an operator is under way keeps what was finished, and nothing is written afterwards."""

    class Interrupted(Silent):
        def done(self, name: str, outcome: str, *, ok: bool) -> None:
            raise KeyboardInterrupt(name, outcome, ok)

    chosen, sleeper = selection(ABS, RELU), Sleeper()
    set_up(tmp_path, chosen)
    with pytest.raises(KeyboardInterrupt):
        generate_kernels(chosen, "fake", sleeper, settings(tmp_path), Judges(), Interrupted(), device="cpu")
    sleeper.release.set()
    assert wait_until(lambda: not any("generate" in thread.name for thread in threading.enumerate()))
    store = KernelStore(tmp_path)
    assert (ABS,) == store.operators()
    assert () == store.attempts(RELU)
    resumed = generate(chosen, Writer(), settings(tmp_path))
    assert ["up_to_date", "generated"] == [item.outcome.value for item in resumed.operators]


def test_a_fault_of_the_harness_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that is neither the generator's nor expected ends the generation."""

    def broken(*_: object) -> None:
        message = "a bug"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("kagent_bench.generate.operator.examine", broken)
    with pytest.raises(ZeroDivisionError):
        generate(selection(RELU), Writer(), settings(tmp_path))


def test_stale_artefacts_are_refused(tmp_path: Path) -> None:
    """With a stale setup nothing is generated and the command to run is named."""
    writer, using = Writer(), settings(tmp_path)
    set_up(tmp_path, selection(RELU))
    with pytest.raises(UsageError, match="stale") as caught:
        generate_kernels(selection(RELU, n_cases=7), "fake", writer, using, Judges(), Silent(), device="cpu")
    assert "kab setup --suite fake" in caught.value.hint
    assert [] == writer.asked


def test_a_folder_that_was_never_set_up_needs_no_setup(tmp_path: Path) -> None:
    """Problems are made from the suite itself, so a generator can start in a folder that is not there yet."""
    writer = Writer()
    missing = settings(tmp_path / "not" / "there")
    generate_kernels(selection(RELU), "fake", writer, missing, Judges(), Silent(), device="cpu")
    assert 1 == len(writer.asked)


def test_request_holds_what_is_promised(tmp_path: Path) -> None:
    """The generator gets the problem without held-out cases, the tolerance, the device and its own options."""
    seen: list[GenerationRequest] = []

    class Looks(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            seen.append(request)
            return super().generate(request)

    chosen = selection(RELU, n_cases=40)
    using = replace(settings(tmp_path), generators={"fake": {"depth": 3}, "other": {"depth": 4}})
    generate(chosen, Looks(), using)
    (request,) = seen
    held_out = {case.id for case in chosen.operators[0].cases if case.held_out}
    assert held_out
    assert not held_out & {case.id for case in request.problem.cases}
    assert not any(case_id in request.problem.statement + request.problem.test_source for case_id in held_out)
    assert ({"depth": 3}, TOLERANCE, "cpu", 30.0) == (
        request.options,
        request.tolerance,
        request.device,
        request.deadline_s,
    )


def test_summary_json(tmp_path: Path) -> None:
    """The JSON form survives a round trip through text and says what the summary says."""
    summary = generate(selection(ABS, RELU), Writer(), settings(tmp_path))
    data = json.loads(json.dumps(summary.to_json(), allow_nan=False))
    assert ({"generated": 2}, True, "fake") == (data["counts"], data["ok"], data["generator"])
    assert ["abs.default", "relu.default"] == [item["op_name"] for item in data["operators"]]
    assert "generated" == data["operators"][0]["outcome"]
