"""Code that runs contained, in a fork of a fresh interpreter, and what that server saw of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, Step

_SERVER = """
import ctypes, json, os, select, signal, socket, sys, time
from dataclasses import replace
from pathlib import Path
from kagent_bench.evaluate.containment import Step, contain, default_policy

request = json.loads(sys.argv[1])
folder = Path(request["folder"])
policy = default_policy(
    folder / "scratch",
    secrets=(folder / "secret",),
    without=frozenset(Step(name) for name in request["without"]),
)
policy = replace(policy, **request["changes"])
exec(request["before"])
server = os.getpid()
for body in request["bodies"]:
    alive, alive_writer = os.pipe()   # open as long as any contained process lives
    answers, answer_writer = os.pipe()
    pid = os.fork()
    if not pid:
        break
    os.close(alive_writer)
    os.close(answer_writer)
    exec(request["meanwhile"])
    _, status = os.waitpid(pid, 0)
    died = bool(select.select([alive], [], [], request["patience_s"])[0])
    with open(answers) as pipe:
        told = [json.loads(line) for line in pipe] if died else []
    print(json.dumps({"status": os.waitstatus_to_exitcode(status), "all_died": died, "told": told}), flush=True)
else:
    sys.exit()
if True:
    try:
        report = contain(policy, keep_fds={2, alive_writer, answer_writer})
        def tell(value):
            os.write(answer_writer, (json.dumps(value) + "\\n").encode())
        def attempt(action):
            try:
                return repr(action())
            except BaseException as error:
                return type(error).__name__
        tell(report.to_json())
        exec(body)
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(99)
    os._exit(0)
"""
_DEADLINE_S = 60.0
_PATIENCE_S = 5.0
NAMESPACES = (
    Step.USER_NAMESPACE,
    Step.MOUNT_NAMESPACE,
    Step.PID_NAMESPACE,
    Step.NETWORK_NAMESPACE,
    Step.IPC_NAMESPACE,
    Step.HOSTNAME_NAMESPACE,
)
LANDLOCK = (Step.LANDLOCK_FILES, Step.LANDLOCK_TCP, Step.LANDLOCK_SCOPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a server saw of a contained process."""

    status: int
    """Exit code, or the negative number of a signal."""
    all_died: bool
    report: ContainmentReport
    told: list[Any]
    """What the contained code told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Runs code contained, in a fork of a fresh interpreter."""

    folder: Path

    def run(
        self,
        body: str,
        *,
        before: str = "",
        meanwhile: str = "",
        without: tuple[Step, ...] = (),
        changes: dict[str, Any] | None = None,
    ) -> Outcome:
        """Run ``body`` contained, and code around it in the server."""
        return self.run_each([body], before=before, meanwhile=meanwhile, without=without, changes=changes)[0]

    def run_each(
        self,
        bodies: list[str],
        *,
        before: str = "",
        meanwhile: str = "",
        without: tuple[Step, ...] = (),
        changes: dict[str, Any] | None = None,
    ) -> list[Outcome]:
        """Run each of ``bodies`` contained in a fork of its own."""
        request = {
            "folder": str(self.folder),
            "bodies": [textwrap.dedent(body) for body in bodies],
            "before": textwrap.dedent(before),
            "meanwhile": textwrap.dedent(meanwhile),
            "without": [step.value for step in without],
            "changes": changes or {},
            "patience_s": _PATIENCE_S,
        }
        done = subprocess.run(
            [sys.executable, "-c", _SERVER, json.dumps(request)],
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "SECRET_KEY": "hunter2", "OMP_NUM_THREADS": "1"},
        )
        assert 0 == done.returncode, done.stderr
        outcomes = [_outcome(json.loads(line)) for line in done.stdout.splitlines()]
        assert 99 not in {outcome.status for outcome in outcomes}, done.stderr
        return outcomes


def _outcome(data: dict[str, Any]) -> Outcome:
    report = ContainmentReport.from_json(data["told"][0]) if data["told"] else _NO_REPORT
    return Outcome(status=data["status"], all_died=data["all_died"], report=report, told=data["told"][1:])


_NO_REPORT = ContainmentReport(steps=(), secrecy=False, secrecy_reason="processes are still alive")


def need(machine: ContainmentReport, *steps: Step) -> None:
    """Skip a test where the machine refuses what it is about."""
    for item in machine.refusals():
        if item.step in steps:
            pytest.skip(f"this machine refuses {item.step}: {item.reason}")
