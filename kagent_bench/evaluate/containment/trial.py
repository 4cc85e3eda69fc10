"""What containment achieves on this machine, found out by containing a throwaway process."""

from __future__ import annotations

import json
import os
import select
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kagent_bench.errors import HarnessFault
from kagent_bench.evaluate.containment.policy import ContainmentPolicy, default_policy
from kagent_bench.evaluate.containment.report import ContainmentReport, Step
from kagent_bench.evaluate.containment.sequence import contain

_DEADLINE_S = 20.0
"""Containment takes milliseconds; a machine that needs longer is stuck."""
_CHUNK_BYTES = 1 << 16
_CANARY = "canary"


def _report(policy: ContainmentPolicy, writer: int) -> None:
    """Contain this process and send the report, or the error."""
    try:
        answer = json.dumps(contain(policy, keep_fds={writer}).to_json())
    except OSError as error:
        answer = json.dumps({"error": str(error)})
    with open(writer, "w", encoding="utf-8") as pipe:
        pipe.write(answer)


def _read_all(reader: int) -> bytes:
    deadline = time.monotonic() + _DEADLINE_S
    received = b""
    while select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(reader, _CHUNK_BYTES)
        if not chunk:
            break
        received += chunk
    return received


def _ask(policy: ContainmentPolicy) -> bytes:
    reader, writer = os.pipe()
    try:
        pid = os.fork()
        if not pid:
            try:
                _report(policy, writer)
            finally:
                os._exit(0)
        os.close(writer)
        try:
            return _read_all(reader)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    finally:
        os.close(reader)


def _try(policy: ContainmentPolicy | None, folder: Path) -> bytes:
    scratch, canary = folder / "scratch", folder / _CANARY
    scratch.mkdir()
    canary.write_text("secret")
    wanted = default_policy(scratch) if policy is None else policy
    return _ask(replace(wanted, scratch=scratch, secrets=(*wanted.secrets, canary)))


def harmful_steps(report: ContainmentReport, *, cuda: bool) -> frozenset[Step]:
    """Return the steps that a policy should leave out on the machine of a probe's report.

    In a process namespace whose ``/proc`` is the old one, CUDA does not initialise (error 304).
    """
    halfway = report.applied(Step.PID_NAMESPACE) and not report.applied(Step.FRESH_PROC)
    return frozenset({Step.PID_NAMESPACE}) if cuda and halfway else frozenset()


def probe(policy: ContainmentPolicy | None = None) -> ContainmentReport:
    """Contain a throwaway process and return its report; a canary file stands for the secrets.

    To be called while this process has one thread only.

    Args:
        policy: the policy to try, in a scratch folder of its own; None for the default one.

    Raises:
        HarnessFault: no process can be made, or it did not answer.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="kab-probe-", ignore_cleanup_errors=True) as folder:
            answer = _try(policy, Path(folder).resolve())
    except OSError as error:
        message = f"containment could not be tried: {error}"
        raise HarnessFault(message, hint="check free processes and the temporary folder") from error
    data = json.loads(answer) if answer else {"error": "it ended without an answer"}
    if "error" in data:
        message = f"a throwaway process could not be contained: {data['error']}"
        raise HarnessFault(
            message, hint="see 'kab doctor'; processes, memory or the temporary folder may be exhausted"
        )
    return ContainmentReport.from_json(data)
