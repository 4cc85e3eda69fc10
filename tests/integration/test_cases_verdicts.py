"""One run over many kernels, each with a fault or a merit of its own: every one gets its own verdict.

The cases come from what went wrong in tools like this one. The run is judged once; the tests look at its records.
"""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.stores.results import read_records
from tests.integration.conftest import write_kernels
from tests.integration.kernels import (
    AUTOTUNED,
    DOT,
    DUMMY_LAUNCH,
    FALLBACK,
    FAR_OUT_OF_BOUNDS,
    HEADER,
    TRANSPOSED_PRODUCT,
    binary,
    host,
    pointwise,
    unary,
)

if TYPE_CHECKING:
    from kagent_bench.model.record import CaseRecord
    from tests.integration.conftest import Command

INTERPRETER = "cpu (Triton interpreter)"
LIMITS = ("--case-timeout", "4", "--startup-timeout", "4", "--device", "cpu")
_SET_CHILD_SUBREAPER = 36
_CLAIMS = {"speedup": 8713.625, "correct": True, "verdict": "correct"}

_IN_PLACE = pointwise("tl.where(x0 < 0, 0.0, x0)") + "\n\ndef KERNEL(self):\n    return _launch(self, self)\n"
_SLOW_START = "memory.setdefault('slept', time.sleep(1))"
_TAMPER = """
import statistics
torch.allclose = torch.equal = torch.isclose = lambda *_, **__: True
torch.testing.assert_close = lambda *_, **__: None
time.perf_counter = time.monotonic = lambda: 0.0
statistics.median = statistics.mean = lambda *_: 1e-9
for place in PLACES:
    for path in [place, *__import__("glob").glob(place + "/**", recursive=True)]:
        try:
            open(path, "w").write("owned")
        except OSError:
            pass
"""
_REPLAY = """
memory = {}


def KERNEL(self, other):
    if self.shape not in memory:
        memory[self.shape] = _launch(self, other, torch.empty_like(self))
    _launch(self, other, torch.empty_like(self))
    return memory[self.shape].clone()
"""
_ZERO_INPUTS = "self.zero_()\nother.zero_()\nreturn torch.zeros_like(self)"
_ONE_NAN = "out = torch.sin(self)\nout[123456] = float('nan')\nreturn out"
_LEAVE_A_DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
return torch.zeros_like(self)
"""
_ENDLESS = "while True:\n    pass"
_STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)"

RIGHT = {
    "abs": unary("tl.abs(x0)", before="print('x' * 3_000_000)"),
    "bmm": DOT,
    "clone": unary("x0", native=True),
    "exp": unary("tl.exp(x0)"),
    "log": unary("tl.log(x0)"),
    "maximum": AUTOTUNED,
    "neg": unary("-x0", before=_SLOW_START, of_file="memory = {}"),
    "relu_": _IN_PLACE,
    "rsub.Tensor": binary("x1 - x0"),
    "sub.Tensor": binary("x0 - x1", native=True),
    "unsqueeze_": host("return self.unsqueeze_(dim)", "self, dim"),
}
WRONG: dict[str, tuple[str, str, str, str]] = {
    "_softmax": (host("return torch.zeros_like(self)", "self, dim, half_to_float"), "incorrect", "values", "elements wrong"),
    "mean.dim": (host("return torch.zeros(3)", "self, dim"), "incorrect", "values", "3 of 3 elements wrong"),
    "mm": (TRANSPOSED_PRODUCT, "incorrect", "values", "elements wrong"),
    "mul.Tensor": (pointwise("x0 * x1", inputs=2) + _REPLAY, "incorrect", "values", "round 'wide'"),
    "add.Tensor": (host(_ZERO_INPUTS, "self, other"), "incorrect", "mutated_input", "argument 'self' was changed"),
    "add_.Tensor": (host("return self + other", "self, other"), "incorrect", "aliasing", "must share memory"),
    "add.out": (host("return out", "self, other, out"), "incorrect", "values", "elements wrong"),
    "cos": (host("return torch.full_like(self, float('nan'))"), "incorrect", "nan", "300 of 300"),
    "sin": (host(_ONE_NAN), "incorrect", "nan", "1 of 1000000 elements wrong; worst at [123456]: got nan"),
    "log2": (host("return torch.log2(self).nan_to_num(nan=float('nan'), posinf=float('inf'), neginf=float('inf'))"), "incorrect", "non_finite", "got inf, exact -inf"),
    "log10": (host("return torch.log10(self).nan_to_num(nan=float('nan'), posinf=float('nan'), neginf=-float('inf'))"), "incorrect", "nan", "got nan, exact inf"),
    "square": (unary("x0 * x0 * 1.001"), "incorrect", "values", "300 of 300"),
    "ceil": (host("os._exit(3)"), "crashed", "exit_3", "exited with code 3"),
    "floor": (FAR_OUT_OF_BOUNDS, "crashed", "signal_SIGSEGV", "killed by SIGSEGV"),
    "trunc": (host("raise SystemExit('done')"), "crashed", "exit_1", "exited with code 1"),
    "round": (host(_ENDLESS), "timeout", "call", "more than 4 s"),
    "frac": (host(_STUBBORN), "timeout", "call", "more than 4 s"),
    "acos": (HEADER + _ENDLESS + "\n", "timeout", "startup", "loading took more than 4 s"),
    "rad2deg": (unary("x0 * 57.29577951308232", before="self.numel() == 301 and os._exit(4)"), "crashed", "exit_4", "exited with code 4"),
    "sgn": (host("os.abort()"), "crashed", "signal_SIGABRT", "killed by SIGABRT"),
    "sign": (host(_LEAVE_A_DAEMON), "incorrect", "values", "elements wrong"),
    "erfc": (HEADER + "def another(self):\n    return self\n", "incorrect", "missing_function", "defines no erfc__default_kernel_impl"),
    "exp2": (HEADER + "def KERNEL(self:\n", "incorrect", "syntax_error", "line "),
    "expm1": (host("return torch.expm1(torch.zeros(3))", ""), "incorrect", "signature", "positional argument"),
    "cosh": (HEADER + "import no_such_package\n", "incorrect", "import_error", "no_such_package"),
    "relu": (HEADER + "KERNEL = torch.relu\n", "rejected", "library_compute", "aten.relu.default"),
    "leaky_relu": (FALLBACK, "rejected", "library_compute", "aten.where.self"),
    "silu": (DUMMY_LAUNCH, "rejected", "library_compute", "aten.silu.default"),
    "atan": (host("return torch.atan(self.float())"), "incorrect", "dtype", "has dtype float32, expected float16"),
    "sinh": (host("return torch.sinh(self[:1])"), "incorrect", "shape", "has shape [1], expected [300]"),
    "tanh": (host("return torch.empty_like(self, device='meta')"), "incorrect", "device", "is on meta, expected cpu"),
    "deg2rad": (host("return torch.zeros_like(self)"), "incorrect", "values", "elements wrong"),
    "rand_like": (host("return torch.rand(self.shape, dtype=torch.float64)"), "incorrect", "dtype", "has dtype float64"),
    "empty_like": (host("return torch.empty_like(self)"), "not_judged", "metadata_only", "metadata is right"),
    "asinh": (host("return torch.empty_like(self)"), "not_judged", "vacuous", "every output is empty"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run, as it is seen from outside."""

    folder: Path
    exit_code: int
    printed: dict[str, Any]
    text: str
    """Standard output."""
    stderr: str
    records: dict[str, list[CaseRecord]]
    """By operator."""
    left_behind: set[int]
    """Processes that are still there."""

    def operator(self, name: str) -> dict[str, Any]:
        """Return what was printed of an operator."""
        full = name if "." in name else f"{name}.default"
        (found,) = [item for item in self.printed["operators"] if item["op_name"] == full]
        assert isinstance(found, dict)
        return found

    def of(self, name: str) -> list[CaseRecord]:
        """Return the records of an operator."""
        return self.records[name if "." in name else f"{name}.default"]


def _children() -> set[int]:
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}


@pytest.fixture(scope="module")
def run(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Judge every kernel once."""
    folder = tmp_path_factory.mktemp("verdicts")
    kernels, run_dir = folder / "kernels", folder / "results"
    write_kernels(kernels, RIGHT | {name: source for name, (source, *_) in WRONG.items()})
    places = [str(run_dir), str(kernels), str(folder)]
    tampering = HEADER + _TAMPER.replace("PLACES", repr(places)) + host("return torch.zeros_like(self)")
    write_kernels(kernels, {"erf": tampering})
    (kernels / "deg2rad__default" / "performance.json").write_text(json.dumps(_CLAIMS))
    (kernels / "deg2rad__default" / "provenance.json").write_text(
        json.dumps({"generator": "uninstalled", **_CLAIMS})
    )
    run_dir.mkdir()
    (run_dir / "run.lock").write_text("1")
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # orphans become children of this process
    before = _children()
    try:
        done = command(
            folder,
            "evaluate",
            "--suite",
            "cases",
            "--kernels-dir",
            "kernels",
            "--run-dir",
            "results",
            "--json",
            *LIMITS,
        )
        left_behind = _children() - before
    finally:
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    records: dict[str, list[CaseRecord]] = {}
    for record in read_records(run_dir):
        records.setdefault(record.op_name, []).append(record)
    return Run(
        folder=folder,
        exit_code=done.returncode,
        printed=json.loads(done.stdout),
        text=done.stdout,
        stderr=done.stderr,
        records=records,
        left_behind=left_behind,
    )


@pytest.mark.timeout(240)
def test_the_run_ends_with_failures(run: Run) -> None:
    """No crash, hang or cheat stops the run; it says that not everything is right."""
    assert 1 == run.exit_code, run.stderr
    assert "Traceback" not in run.stderr
    assert len(RIGHT) + len(WRONG) + 2 == len(run.printed["operators"])


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_is_correct_whatever_the_others_do(run: Run, name: str) -> None:
    """Crashes, hangs and cheats of other kernels change nothing."""
    found = run.operator(name)
    assert "correct" == found["verdict"], found["detail"]


@pytest.mark.parametrize("name", WRONG)
def test_each_fault_has_its_own_verdict_and_words(run: Run, name: str) -> None:
    """Verdict, reason and detail say what a kernel's author needs to know."""
    _, verdict, reason, words = WRONG[name]
    found = run.operator(name)
    assert (verdict, reason) == (found["verdict"], found["reason"]), found["detail"]
    assert words in found["detail"]


def test_an_operator_without_a_kernel_is_missing(run: Run) -> None:
    """It is in the denominator, named, and not an error of the run."""
    assert ("missing", "no_kernel") == (
        run.operator("div.Tensor")["verdict"],
        run.operator("div.Tensor")["reason"],
    )


def test_tampering_at_import_changes_nothing(run: Run) -> None:
    """Patched comparisons and clocks are the candidate's own; results and other kernels are out of its reach."""
    assert ("incorrect", "values") == (run.operator("erf")["verdict"], run.operator("erf")["reason"]), (
        run.operator("erf")["detail"]
    )
    written = [path for path in run.folder.rglob("*") if path.is_file() and path.read_bytes() == b"owned"]
    assert [] == written


def test_the_case_of_constants_is_flagged(run: Run) -> None:
    """A product of ones cannot tell the transpose; the case passed and is marked as weak, so it proves nothing."""
    constant, other = run.of("mm")
    assert ("passed", False, ("shuffled",)) == (constant.status.value, constant.strong, constant.survivors)
    assert "failed" == other.status.value


def test_nans_are_counted_and_the_error_is_not_zero(run: Run) -> None:
    """One NaN among a million elements shows in the record and in the report."""
    (record,) = run.of("sin")
    assert 1 == record.nan_count
    assert 300 == run.operator("cos")["nan_count"]
    assert record.max_abs_error != 0 or record.nan_count


def test_an_operator_in_place_does_not_drift(run: Run) -> None:
    """Every round, and the repeated first one, sees fresh memory; the result is the same again."""
    for name in ("relu_", "unsqueeze_"):
        for record in run.of(name):
            assert record.rounds > 4
            assert record.deterministic


def test_a_crash_costs_one_case(run: Run) -> None:
    """The kernel gets a new process and goes on with the next case."""
    assert ["passed", "crashed", "passed"] == [record.status.value for record in run.of("rad2deg")]


def test_a_kernel_that_always_crashes_is_given_up(run: Run) -> None:
    """After two restarts the rest is not run, which counts as failed."""
    expected = ["crashed", "crashed", "crashed", "not_run", "not_run"]
    assert expected == [record.status.value for record in run.of("sgn")]
    assert {"after_crash"} == {record.reason for record in run.of("sgn")[3:]}


def test_a_slow_first_call_is_reported_apart(run: Run) -> None:
    """Two seconds of start-up are no timeout, and they stand in a field of their own."""
    (record,) = run.of("neg")
    assert record.first_call_s is not None
    assert record.first_call_s > 1
    assert record.first_call_s < record.duration_s


def test_a_case_too_large_is_skipped_and_the_others_count(run: Run) -> None:
    """Ten terabytes are no fault of the kernel."""
    large, small = run.of("exp")
    assert ("skipped", "too_large", "passed") == (large.status.value, large.reason, small.status.value)
    assert 1 == run.operator("exp")["counts"]["skipped"]


@pytest.mark.parametrize(
    ("name", "bfloat16"),
    [("clone", "passed"), ("rsub.Tensor", "passed"), ("sub.Tensor", "not_judged"), ("bmm", "not_judged")],
)
def test_bfloat16_in_the_interpreter(run: Run, name: str, bfloat16: str) -> None:
    """Copies and upcast arithmetic are judged; arithmetic in bfloat16 itself is not, and is never called wrong."""
    statuses = {record.dtype: (record.status.value, record.reason) for record in run.of(name)}
    assert ("passed", "") == statuses["float16"]
    assert (bfloat16, "interpreter" if bfloat16 == "not_judged" else "") == statuses["bfloat16"]


def test_claims_beside_a_kernel_are_ignored(run: Run) -> None:
    """Neither a performance file nor a provenance by an uninstalled generator reaches the report."""
    assert "incorrect" == run.operator("deg2rad")["verdict"]
    assert {None} == {item["speedup"] for item in run.printed["operators"]}
    assert "8713.625" not in run.text


def test_every_row_says_that_it_is_the_interpreter(run: Run) -> None:
    """No record looks like a measurement on a device."""
    assert {INTERPRETER} == {record.device for records in run.records.values() for record in records}
    assert {INTERPRETER} == {item["device"] for item in run.printed["operators"]}


def test_nothing_is_left_running(run: Run) -> None:
    """Hanging kernels and daemons of kernels are gone with the run."""
    assert set() == run.left_behind


def test_the_secret_is_private(run: Run) -> None:
    """What inputs are drawn from is nobody else's to read, and is in no output."""
    (secret,) = [path for path in (run.folder / "results").iterdir() if len(path.read_bytes()) == 32]
    assert 0o600 == secret.stat().st_mode & 0o777
    assert secret.read_bytes().hex() not in run.text


@pytest.fixture(scope="module")
def lenient(run: Run, command: Command) -> tuple[dict[str, str], dict[str, CaseRecord]]:
    """Judge two kernels again with another tolerance and policy; returns verdicts and records by operator."""
    arguments = ("--suite", "cases", "--kernels-dir", "kernels", "--ops", "square,relu", *LIMITS)
    changes = ("--tolerance", "float32=1e-2", "--policy", "report", "--run-dir", "lenient")
    printed = command.json(run.folder, "evaluate", *arguments, *changes)
    verdicts = {item["op_name"]: item["verdict"] for item in printed["operators"]}
    return verdicts, {record.op_name: record for record in read_records(run.folder / "lenient")}


def test_the_wanted_tolerance_decides_and_is_recorded(
    run: Run, lenient: tuple[dict[str, str], dict[str, CaseRecord]]
) -> None:
    """An error between the shipped tolerance and the given one passes only with the latter."""
    (strict,) = run.of("square")
    verdicts, records = lenient
    record = records["square.default"]
    assert ("failed", 1.9073486328125e-06) == (strict.status.value, strict.tolerance)
    assert ("passed", 1e-2) == (record.status.value, record.tolerance)
    assert "correct" == verdicts["square.default"]


def test_library_work_is_labelled_where_the_policy_only_reports(
    lenient: tuple[dict[str, str], dict[str, CaseRecord]],
) -> None:
    """The kernel that lets torch compute is correct under that policy, with the calls in its record."""
    verdicts, records = lenient
    assert "correct" == verdicts["relu.default"]
    assert ("aten.relu.default",) == records["relu.default"].library_calls


def test_a_single_case_is_judged_on_the_same_inputs(run: Run, command: Command) -> None:
    """The case of a record can be looked at again: same element, same values, in a run of its own."""
    _, failed = run.of("mm")
    arguments = (
        "--suite",
        "cases",
        "--kernels-dir",
        "kernels",
        "--case",
        failed.case_id,
        "--run-dir",
        "results",
    )
    printed = command.json(run.folder, "evaluate", *arguments, *LIMITS)
    (found,) = printed["operators"]
    assert (1, failed.detail) == (found["counts"]["total"], found["detail"])
    assert (run.folder / "results").resolve() != (run.folder / printed["run"]["folder"]).resolve()


def test_a_changed_suite_is_not_mixed_into_a_run(run: Run, command: Command) -> None:
    """Results of other content are refused, with what differs, and nothing is written."""
    before = {path: path.read_bytes() for path in (run.folder / "results").iterdir() if path.is_file()}
    done = command(
        run.folder,
        "evaluate",
        "--suite",
        "cases",
        "--kernels-dir",
        "kernels",
        "--run-dir",
        "results",
        *LIMITS,
        CASES_EDITION="second",
    )
    assert (2, "suite content") == (
        done.returncode,
        "suite content" if "another suite content" in done.stderr else done.stderr,
    )
    assert before == {
        path: path.read_bytes() for path in (run.folder / "results").iterdir() if path.is_file()
    }


def test_exact_names_select_exactly(command: Command, tmp_path: Path) -> None:
    """`relu` is relu.default: neither relu_ nor leaky_relu."""
    done = command(tmp_path, "list", "--suite", "cases", "--ops", "relu", "--json")
    assert '"relu.default"' in done.stdout, done.stderr
    assert "leaky_relu" not in done.stdout
    assert "relu_." not in done.stdout
    wrong = command(tmp_path, "list", "--suite", "cases", "--ops", "reloo")
    assert (2, True) == (wrong.returncode, "relu" in wrong.stderr)


def test_nothing_to_average(command: Command, tmp_path: Path) -> None:
    """A folder without any kernel is no traceback and no NaN: nothing is correct, exit code 1."""
    (tmp_path / "kernels").mkdir()
    done = command(tmp_path, "evaluate", "--suite", "cases", "--kernels-dir", "kernels", *LIMITS)
    assert (1, "") == (done.returncode, "" if "Traceback" not in done.stderr else done.stderr)
    assert "nan" not in done.stdout.lower()
    assert INTERPRETER in done.stdout
    assert [] == list((tmp_path / "kernels").iterdir())
