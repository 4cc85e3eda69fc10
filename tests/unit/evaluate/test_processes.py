"""Helpers are forked from a process that has imported what they need, and end when they are told to."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import HarnessFault
from kagent_bench.evaluate import processes
from kagent_bench.evaluate.processes import Helper, HelperLost, Nursery

if TYPE_CHECKING:
    from collections.abc import Iterator

HELPER = """
import os, signal, sys, time
from kagent_bench.evaluate.protocol import Channel, Closed

def main():
    channel = Channel.from_descriptor(int(sys.argv[1]))
    while True:
        try:
            request, _ = channel.receive()
        except Closed:
            time.sleep(100 if sys.argv[2] == "deaf" else 0)
            return
        while request["do"] == "work" and time.process_time() < 0.5:
            pass
        if request["do"] == "fall":
            sys.exit("fallen")
        facts = {"imported": "probe_import" in sys.modules, "interpret": os.environ["TRITON_INTERPRET"]}
        channel.send({**facts, "pid": os.getpid(), "parent": os.getppid(), "session": os.getsid(0), "key": os.environ.get("MY_KEY")})
"""


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    """Return one with modules of its own on its path."""
    (tmp_path / "probe_import.py").write_text("")
    (tmp_path / "probe_helper.py").write_text(HELPER)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    made = Nursery("probe_import", {**os.environ, "PYTHONPATH": path, "MY_KEY": "secret"})
    yield made
    made.stop()


def _ask(helper: Helper) -> dict[str, object]:
    return helper.request({"do": "tell"}, timeout_s=10)[0]


def _is_gone(pid: object) -> bool:
    """Return whether a process has ended; its parent may not have taken leave of it yet."""
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_two_threads_may_stop_a_helper(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever ends a run and whoever waits for an answer then find it lost, and both stop it."""
    helper = Helper(nursery, "probe_helper", "", interpreter=True)
    pid = _ask(helper)["pid"]
    ended = processes.ended_within

    def slowly(pidfd: int, seconds: float) -> bool:
        time.sleep(0.3)  # so that both are in it
        return ended(pidfd, seconds)

    monkeypatch.setattr(processes, "ended_within", slowly)
    with ThreadPoolExecutor(2) as pool:
        assert [None, None] == [item.result() for item in [pool.submit(helper.stop) for _ in range(2)]]
    assert _is_gone(pid)


@pytest.mark.parametrize("interpreter", [True, False])
def test_a_helper_has_what_was_imported_and_what_it_asked_for(nursery: Nursery, *, interpreter: bool) -> None:
    """Nothing is imported twice; each works in its own mode and session, and no key of the user is there."""
    helper = Helper(nursery, "probe_helper", "", interpreter=interpreter)
    told = _ask(helper)
    helper.stop()
    assert (True, str(int(interpreter))) == (told["imported"], told["interpret"])
    assert told["pid"] == told["session"]
    assert told["key"] is None
    assert _is_gone(told["pid"])
    helper.stop()  # twice is once


def test_a_nursery_that_was_killed_is_replaced(nursery: Nursery) -> None:
    """One fork fails with words, the next one works; what was forked before goes on."""
    first = Helper(nursery, "probe_helper", "", interpreter=False)
    killed = int(str(_ask(first)["parent"]))
    os.kill(killed, signal.SIGKILL)
    with pytest.raises(HarnessFault, match="probe_helper did not start"):
        Helper(nursery, "probe_helper", "", interpreter=False)
    second = Helper(nursery, "probe_helper", "", interpreter=False)
    assert killed != _ask(second)["parent"]
    assert _ask(first)["imported"]
    first.stop()
    second.stop()


def test_the_time_of_helpers_counts(nursery: Nursery) -> None:
    """Who waits for all children, as a benchmark does, sees what they took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    helper = Helper(nursery, "probe_helper", "", interpreter=False)
    helper.request({"do": "work"}, timeout_s=20)
    helper.stop()
    nursery.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert 0.5 <= after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_helper_that_does_not_end_by_itself_is_killed(nursery: Nursery) -> None:
    """Whoever stops it waits two seconds for it, not for ever."""
    helper = Helper(nursery, "probe_helper", "deaf", interpreter=False)
    pid = _ask(helper)["pid"]
    started = time.monotonic()
    helper.stop()
    assert time.monotonic() - started < 10
    assert _is_gone(pid)


def test_what_a_lost_helper_said_is_told(nursery: Nursery) -> None:
    """Its last words are in the error."""
    helper = Helper(nursery, "probe_helper", "", interpreter=False)
    with pytest.raises(HelperLost, match="probe_helper ended unexpectedly: fallen"):
        helper.request({"do": "fall"}, timeout_s=10)


def test_a_nursery_that_cannot_import_says_so(tmp_path: Path) -> None:
    """As where torch is not installed: the harness is at fault, and the reason is there."""
    nursery = Nursery("no_such_module", {**os.environ, "PYTHONPATH": str(tmp_path)})
    with pytest.raises(HarnessFault, match="No module named 'no_such_module'"):
        Helper(nursery, "probe_helper", "", interpreter=False)
    nursery.stop()
