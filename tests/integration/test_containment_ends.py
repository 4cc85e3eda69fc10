"""Contained code ends as the server sees it, and everything that it started ends with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, Step
from tests.integration.contained import NAMESPACES, Server, need

_ENDS = {
    "os._exit(0)": 0,
    "os._exit(3)": 3,
    "os.abort()": -signal.SIGABRT,
    "ctypes.string_at(0)": -signal.SIGSEGV,
    "os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "os.kill(os.getpid(), signal.SIGTERM)": -signal.SIGTERM,
    "signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)": -signal.SIGINT,
}


@pytest.mark.parametrize("without", [(), NAMESPACES], ids=["namespaces", "bare"])
def test_the_server_sees_how_it_ended(server: Server, without: tuple[Step, ...]) -> None:
    """Exit codes and signals arrive unchanged, with or without a process in between."""
    outcomes = server.run_each(list(_ENDS), without=without)
    assert list(_ENDS.values()) == [outcome.status for outcome in outcomes]


_STRAYS = (
    "os.fork() or time.sleep(60)",
    "os.fork() or (os.setsid(), os.fork() and os._exit(0), time.sleep(60))",
    "os.fork() or ([signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)], os.setsid(), time.sleep(60))",
)
"""A child, a daemon, and one that ignores signals."""


def test_strays_die_with_the_candidate(server: Server, machine: ContainmentReport) -> None:
    """Nothing that a candidate starts outlives it, sessions and ignored signals notwithstanding."""
    need(machine, Step.PID_NAMESPACE)
    ends = ("os._exit(0)", "os.abort()")
    outcomes = server.run_each([f"{stray}\n{end}" for stray in _STRAYS for end in ends])
    assert [True] * 6 == [outcome.all_died for outcome in outcomes]


def test_killing_the_waiter_kills_all(server: Server, machine: ContainmentReport) -> None:
    """The supervisor kills one process; candidate and strays go with it."""
    need(machine, Step.PID_NAMESPACE)
    outcome = server.run(
        "os.fork() or os.setsid(); os.write(alive_writer, b'x'); time.sleep(60)",
        meanwhile="""
        os.read(alive, 2)
        os.kill(pid, signal.SIGKILL)
        """,
    )
    assert -signal.SIGKILL == outcome.status
    assert outcome.all_died


@pytest.mark.parametrize("without", [(), NAMESPACES], ids=["namespaces", "bare"])
def test_the_end_of_the_server_ends_all(tmp_path: Path, without: tuple[Step, ...]) -> None:
    """A server that is killed leaves no candidate behind."""
    (tmp_path / "scratch").mkdir()
    program = """
import os, signal, sys, time
from pathlib import Path
from kagent_bench.evaluate.containment import Step, contain, default_policy
policy = default_policy(Path(sys.argv[1]), without=frozenset(Step(name) for name in sys.argv[2:]))
if not os.fork():
    contain(policy, keep_fds={1})
    os.write(1, b"ready")
    time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    arguments = [sys.executable, "-c", program, str(tmp_path / "scratch"), *without]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert b"ready" == running.stdout.read(5)
        running.kill()
        assert b"" == running.stdout.read()  # end of file: nobody has it open
