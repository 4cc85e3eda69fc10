"""The driver: what becomes of operators whose generator answers, raises, gives up or hangs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kagent_bench.generate.attempts import OutOfTimeError
from kagent_bench.generate.summary import Outcome
from kagent_bench.hooks.protocols import GenerationRequest, GenerationResult
from kagent_bench.stores.kernels import KernelStore
from tests.unit.generate.generators import (
    ABS,
    RELU,
    SIN,
    TOLERANCE,
    Judges,
    Sleeper,
    Writer,
    generate,
    only,
    selection,
    settings,
    wait_until,
)


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


def test_a_fault_of_the_harness_is_not_hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that is neither the generator's nor expected ends the generation."""

    def broken(*_: object) -> None:
        message = "a bug"
        raise ZeroDivisionError(message)

    monkeypatch.setattr("kagent_bench.generate.operator.examine", broken)
    with pytest.raises(ZeroDivisionError):
        generate(selection(RELU), Writer(), settings(tmp_path))


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
