"""What is made of the words of a process that compiles; that process itself is tried in the adversarial tests."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kagent_bench.evaluate import compile_check
from kagent_bench.evaluate.candidate_process import CandidateLimits
from kagent_bench.evaluate.compile_check import CompileCheck, CompileServer, LaunchKind, Outcome
from kagent_bench.evaluate.processes import ForkServer, Nursery
from kagent_bench.model.identity import source_digest
from kagent_bench.model.kernel import Kernel
from kagent_bench.model.names import OperatorName

LIMITS = CandidateLimits(
    startup_timeout_s=1.0, call_timeout_s=1.0, memory_bytes=0, output_bytes=100, secrets=()
)
RELU = Kernel(operator=OperatorName.parse("relu.default"), path=Path("relu.py"), sha256=source_digest(b""))


def kinds(*items: tuple[str, str, str]) -> frozenset[LaunchKind]:
    """Return kinds of launches."""
    return LaunchKind.read([list(item) for item in items])


class Scripted(CompileCheck):
    """A check whose process says what a test tells it to."""

    def __init__(self, *replies: Mapping[str, Any]) -> None:
        """Take the replies, in order."""

        def start() -> ForkServer:
            raise AssertionError

        super().__init__(CompileServer(start, "cuda:90:32"), RELU, b"", LIMITS)
        self.replies = list(replies)

    def _call(self, call: Mapping[str, Any], deadline: float) -> Mapping[str, Any]:
        """Return the next reply."""
        del call, deadline
        return self.replies.pop(0)

    def say(self, *launches: tuple[str, str, str]) -> Outcome:
        """Return what is said of a case with these launches."""
        return self.outcome(kinds(*launches), {"arena_bytes": 1}, time.monotonic() + 1)


def compiled(*rows: Sequence[str], raised: str = "") -> dict[str, Any]:
    """Return a reply."""
    return {"outcome": "compiled", "kernels": [list(row) for row in rows], "raised": raised}


def test_each_kind_is_compiled_once() -> None:
    """A second case with the same launches asks nobody."""
    check = Scripted(compiled(("k", "", "")))
    assert "compiled" == check.say(("k", "t", "v")).word
    assert "compiled" == check.say(("k", "t", "v")).word


def test_a_fault_stays() -> None:
    """A kind that did not compile is not forgiven when other values of it do."""
    check = Scripted(compiled(("k", "`x`: NameError", "")), compiled(("k", "", "")))
    assert "kernel k, `x`: NameError" == check.say(("k", "t", "v")).fault
    assert "kernel k, `x`: NameError" == check.say(("k", "t", "w")).fault
    assert [] == check.replies


def test_one_fault_among_launches_is_a_fault() -> None:
    """Whatever is said of the others."""
    check = Scripted(compiled(("a", "", ""), ("b", "bad", ""), ("c", "", "no ptxas")))
    assert "fails: kernel b, bad" == check.say(("a", "t", "v"), ("b", "t", "v"), ("c", "t", "v")).word


def test_limits_of_the_check_are_no_fault() -> None:
    """A launch that did not take place there, or an error of Triton's own, is said and not held against anyone."""
    check = Scripted(compiled(raised="ValueError: odd"), compiled(("k", "", "RuntimeError: passes failed")))
    first, second = check.say(("k", "t", "v")), check.say(("k", "u", "v"))
    assert ("", "") == (first.fault, second.fault)
    assert first.word == "unavailable: k is not launched where launches compute nothing (ValueError: odd)"
    assert second.word == "unavailable: RuntimeError: passes failed"


@pytest.mark.parametrize("odd", [None, {}, [["k"]], [["k", 1, ""]], [["k", "", "", ""]], "kernels"])
def test_odd_words_of_the_process_are_no_verdict(odd: Any) -> None:
    """It is a candidate: what has another form than agreed is as if it was not said."""
    check = Scripted({"outcome": "compiled", "kernels": odd})
    found = check.say(("k", "t", "v"))
    assert ("", True) == (found.fault, bool(found.unknown))


def test_launches_without_names_are_not_taken_for_compiled() -> None:
    """A process that hides what it launches gets no mark for it."""
    assert Scripted().say().word.startswith("unavailable: ")
    assert frozenset() == LaunchKind.read([["k", "t"], "k", None, ["k", "t", 3]])


def test_the_number_of_checks_is_bounded() -> None:
    """Values and types that go on changing do not cost time for ever, and what was not tried is said."""
    values = Scripted(*[compiled(("k", "", ""))] * (1 + compile_check.MAX_VALUE_CHECKS))
    for value in range(3 * compile_check.MAX_VALUE_CHECKS):
        assert "compiled" == values.say(("k", "t", str(value))).word
    types = Scripted(*[compiled(("k", "", ""))] * compile_check.MAX_CHECKS)
    words = [types.say(("k", str(kind), "v")).word for kind in range(compile_check.MAX_CHECKS + 1)]
    assert ["compiled"] * compile_check.MAX_CHECKS + ["unavailable: too many kinds of launches"] == words


def test_a_server_that_is_lost_is_replaced_a_few_times() -> None:
    """A kernel that brings it down costs the others nothing; what goes on doing so is given up."""
    started: list[ForkServer] = []
    nursery = Nursery(ForkServer.IMPORTS, dict(os.environ))

    def start() -> ForkServer:
        started.append(ForkServer(nursery, interpreter=False))
        started[-1].stop()  # as a kernel would, before it is ready
        return started[-1]

    server = CompileServer(start, "cuda:90:32")
    call = {"arena_bytes": 1}
    for _ in range(compile_check.MAX_LOST_SERVERS + 3):
        check = CompileCheck(server, RELU, b"", LIMITS)
        found = check.outcome(kinds(("k", "t", "v")), call, time.monotonic() + 1)
        check.close()
        assert ("", True) == (found.fault, bool(found.unknown))
    server.stop()
    nursery.stop()
    assert 1 + compile_check.MAX_LOST_SERVERS == len(started)


def test_a_server_that_does_not_start_is_said() -> None:
    """It is the harness's fault and costs no kernel its verdict."""

    def start() -> ForkServer:
        raise OSError("no processes left")

    check = CompileCheck(CompileServer(start, "cuda:90:32"), RELU, b"", LIMITS)
    call = {"arena_bytes": 1}
    for _ in range(2):
        found = check.outcome(kinds(("k", "t", "v")), call, time.monotonic() + 1)
        assert ("", True) == (found.fault, "no processes left" in found.unknown)
