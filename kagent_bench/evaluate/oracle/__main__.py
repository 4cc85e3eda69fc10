"""The oracle's process: answers the supervisor's requests one at a time until its channel closes."""

from __future__ import annotations

import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.errors import UsageError
from kagent_bench.evaluate.arena import Arena
from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle.case_judge import CaseJudge
from kagent_bench.evaluate.oracle.machine import describe_machine
from kagent_bench.evaluate.oracle.measure import measure
from kagent_bench.evaluate.oracle.rounds import OracleSettings
from kagent_bench.evaluate.oracle.semantics import module_semantics, overload, semantics_of
from kagent_bench.evaluate.oracle.time_desk import TimeDesk
from kagent_bench.evaluate.precision import full_float32
from kagent_bench.evaluate.protocol import Channel, Closed
from kagent_bench.evaluate.tolerance import Limits
from kagent_bench.model.identity import decode_case, encode_value
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program_json import decode_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.oracle.finding import Finding
    from kagent_bench.evaluate.oracle.semantics import Semantics


class Oracle:
    """The state between requests: the run's settings, the arena, the open case."""

    def __init__(self) -> None:
        """Start without settings; the first request is ``hello``."""
        self._settings: OracleSettings | None = None
        self._arena: Arena | None = None
        self._judge: CaseJudge | None = None
        self._call: dict[str, Any] = {}
        self._times: TimeDesk | None = None
        self._subject: tuple[Callable[..., Any], Semantics] | None = None
        self._spent_s = {"reference": 0.0, "comparison": 0.0}
        self._program: ProgramRun | None = None
        self._declared: frozenset[str] = frozenset()

    def answer(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Answer one request; returns the message and the descriptors that go with it."""
        if request["do"] == "time":
            assert self._times is not None
            assert self._subject is not None
            return self._times.answer(request, *self._subject)
        return {
            "hello": self._hello,
            "kernel": self._kernel,
            "open": self._open,
            "judge": self._judge_reply,
            "spent": self._tell_spent,
            "measure": self._measure,
        }[request["do"]](request)

    def _tell_spent(self, _: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Tell the processor time, in seconds, that references and comparisons took so far."""
        return dict(self._spent_s), ()

    def _measure(self, _: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Measure what the device reaches."""
        assert self._settings is not None
        return measure(torch.device(self._settings.device)), ()

    @contextmanager
    def _spending(self, on: str) -> Iterator[None]:
        started = time.process_time()
        try:
            yield
        finally:
            self._spent_s[on] += time.process_time() - started

    def _hello(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Take the run's settings; tell what machine this is."""
        try:
            machine = describe_machine(request["device"])
        except UsageError as error:
            return {"error": error.message, "hint": error.hint}, ()
        if machine["torch_device"] == "cpu":
            torch.set_num_threads(1)
        else:
            torch.cuda.set_device(machine["torch_device"])
        self._settings = OracleSettings(
            seed=bytes.fromhex(request["seed"]),
            device=machine["torch_device"],
            limits={dtype: Limits(**limits) for dtype, limits in request["limits"].items()},
            rounds=request["rounds"],
            policy=request["policy"],
            interpreter=machine["interpreter"],
            memory_bytes=machine["memory_bytes"] // 8,
            baselines=tuple(request["baselines"]),
            interpreter_elements=request["interpreter_elements"],
        )
        if self._times is not None:
            self._times.close()
        self._times = TimeDesk(self._settings)
        return machine, ()

    def _kernel(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Start on another candidate process, which shall share nothing with the one before."""
        self._drop_arena()
        if self._times is not None:
            self._times.close()
        program = request.get("program")
        self._program = None if program is None else ProgramRun(decode_program(program))
        self._declared = frozenset(request.get("declared", ()))
        return {}, ()

    def _open(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Prepare a case and its first round."""
        assert self._settings is not None
        case = decode_case(request["case"])
        if isinstance(case.operator, ModuleName):
            assert self._program is not None
            semantics = module_semantics(self._program.program, case)
            self._subject = self._program, semantics
            self._judge = CaseJudge(
                case, request["kind"], self._program, semantics, self._settings, self._declared
            )
        else:
            try:
                operator = overload(case.operator)
            except AttributeError:
                detail = f"torch {torch.__version__} has no operator {case.operator}"
                return self._ended("not_judged", "unknown_operator", detail), ()
            semantics = semantics_of(case.operator)
            self._subject = operator, semantics
            self._judge = CaseJudge(case, request["kind"], operator, semantics, self._settings)
        with self._spending("reference"):
            finding = self._judge.open()
        if finding is not None:
            return self._finish(finding), ()
        layout = self._judge.layout
        assert layout is not None
        descriptors: tuple[int, ...] = ()
        if self._arena is None or self._arena.n_bytes < layout.n_bytes:
            self._drop_arena()
            self._arena = Arena(1 << (layout.n_bytes - 1).bit_length())
            descriptors = (self._arena.descriptor,)
        self._judge.fill(self._arena)
        call = {
            "args": [encode_value(value) for value in case.args],
            "kwargs": {name: encode_value(value) for name, value in case.kwargs},
            "dtypes": [storage.dtype for storage in case.storages],
            "regions": [[region.offset, region.n_bytes] for region in layout.regions],
            "output": [layout.input_bytes, layout.output_bytes],
            "arena_bytes": self._arena.n_bytes,
        }
        return {"state": "ready", "call": call}, descriptors

    def _judge_reply(self, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Judge one round; prepare the next one or end the case."""
        judge, arena = self._judge, self._arena
        assert judge is not None
        assert arena is not None
        with self._spending("comparison"):
            finding = judge.judge(request["reply"], arena)
        if finding is not None:
            return self._finish(finding), ()
        with self._spending("reference"):
            goes_on = judge.advance()
        if goes_on:
            judge.fill(arena)
            return {"state": "next"}, ()
        return self._finish(judge.conclude()), ()

    def _finish(self, finding: Finding | None) -> dict[str, Any]:
        assert self._judge is not None
        tally = self._judge.tally
        ended = (
            self._ended("passed", "", "")
            if finding is None
            else self._ended(finding.status.value, finding.reason, finding.detail)
        )
        ended["tally"] = {
            **{
                name: value
                for name, value in asdict(tally).items()
                if name not in {"survivors", "calls", "dropped"}
            },
            "survivors": sorted(tally.survivors or ()),
            "dropped": tally.dropped,
            "library_calls": self._judge.work.library_calls(),
            "coverage": self._judge.work.coverage(),
        }
        self._judge = None
        return ended

    @staticmethod
    def _ended(status: str, reason: str, detail: str) -> dict[str, Any]:
        return {"state": "ended", "status": status, "reason": reason, "detail": detail}

    def _drop_arena(self) -> None:
        if self._arena is not None:
            self._arena.close()
            self._arena = None


def _answer(oracle: Oracle, request: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Answer; a fault of the oracle's own code ends one case and is named as what it is."""
    try:
        return oracle.answer(request)
    except Exception as error:
        if request["do"] not in {"open", "judge"}:
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return {"state": "ended", "status": "not_judged", "reason": "harness_fault", "detail": detail}, ()


def main() -> None:
    """Serve the channel whose descriptor is the only argument."""
    warnings.simplefilter("ignore")
    full_float32()
    channel = Channel.from_descriptor(int(sys.argv[1]))
    oracle = Oracle()
    while True:
        try:
            request, _ = channel.receive()
            message, descriptors = _answer(oracle, request)
            channel.send(message, descriptors)
        except Closed:
            return


if __name__ == "__main__":
    main()
