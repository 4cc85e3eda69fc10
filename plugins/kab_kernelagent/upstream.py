"""Drives the public KernelAgent: its own prompts, its own loop, in a process of its own; the verdict stays ours.

The public agent runs the kernels that it tries itself, uncontained; nothing here can change that. So it is given no
secret: it calls the provider through our relay, which has the key. What it calls a success is judged by the evaluator
like any other kernel. Where the provider fails it goes on with a kernel of its own making that says nothing of the
model: then the provider's failure is reported, not a kernel's.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_kernelagent.account import Account
from kab_kernelagent.code.names import export_as, with_imports
from kab_kernelagent.outcome import CallFailedError
from kab_kernelagent.providers.choose import endpoint
from kab_kernelagent.redaction import is_secret
from kab_kernelagent.relay import Relay
from kab_kernelagent.solve import BUDGET, TIME
from kagent_bench.config.environment import process_environment
from kagent_bench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kab_kernelagent.options import AgentOptions
    from kab_kernelagent.store import RunStore
    from kagent_bench.hooks.protocols import Problem

PACKAGE = "triton_kernel_agent"
FOLDER = "upstream"
"""In the operator's folder of a run: what the public agent keeps of its sessions."""
_CHILD = Path(__file__).with_name("upstream_child.py")
_CHECK_S = 120.0
"""Seconds for importing the public agent, which imports torch."""
_POLL_S = 0.1
_MAIN = 'if __name__ == "__main__":'
"""Begins the last statement of our test files."""
_PLATFORMS = {"xpu": "xpu"}
"""The public agent's names of devices; all others are ``cuda`` to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicResult:
    """What the public agent came to."""

    source: str | None
    """Its kernel under our name, None if it has none."""
    reason: str = ""
    detail: str = ""
    final: bool = True
    """Whether going on with the run could not change it."""


def check_upstream(options: AgentOptions) -> None:
    """Find out whether the public agent can be used.

    Raises:
        UsageError: it cannot be imported.
    """
    command = [sys.executable, "-c", f"import {PACKAGE}"]
    done = subprocess.run(
        command,
        env=_environment(options, "cpu"),
        capture_output=True,
        text=True,
        timeout=_CHECK_S,
        check=False,
    )
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        message = f"the public KernelAgent (--agent upstream) cannot be imported: {why}"
        hint = "check out github.com/meta-pytorch/KernelAgent, install its dependencies, and name it: --upstream-path DIR"
        raise UsageError(message, hint=hint)


class PublicAgent:
    """The public agent in one run. Safe for several threads."""

    def __init__(self, options: AgentOptions, store: RunStore) -> None:
        """Open the way to the provider.

        Raises:
            UsageError: a key, a package or a model is missing.
        """
        self._options = options
        self._store = store
        self._relay = Relay(options, store, Account.opened(options, store))
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def solve(
        self, problem: Problem, *, device: str, deadline_s: float, stopped: Callable[[], bool]
    ) -> PublicResult:
        """Have it solve one problem.

        Args:
            problem: The statement is its problem description, the test its test code.
            device: Kind of device.
            deadline_s: Seconds after which it is killed, with all its workers.
            stopped: Whether the user stopped the run.
        """
        folder = problem.operator.folder
        work = (self._store.path / folder / FOLDER).resolve()
        work.mkdir(parents=True, exist_ok=True)
        result = work / "result.json"
        result.unlink(missing_ok=True)
        address = self._relay.open(folder)
        task = self._task(problem, device, deadline_s) | {"log_dir": str(work), "result": str(result)}
        (work / "task.json").write_text(json.dumps(task))
        try:
            with (work / "output.log").open("wb") as log:
                process = subprocess.Popen(
                    [sys.executable, str(_CHILD), str(work / "task.json")],
                    cwd=work,
                    env=_environment(self._options, device, address=address, key=self._relay.key),
                    stdin=subprocess.PIPE,  # never written to: its end is ours
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                with self._lock:
                    self._running.add(process)
                in_time = _wait(process, time.monotonic() + deadline_s, stopped)
        finally:
            self._relay.shut(folder)
        with self._lock:
            self._running.discard(process)
        _clean(work, self._redact)
        if not in_time:
            return PublicResult(
                source=None, reason=TIME, detail=f"killed after {deadline_s:g} s", final=False
            )
        found = _read(result, process.returncode, problem, work / "output.log", self._redact)
        failed = self._relay.failure(folder)
        if found.source is not None or failed is None:
            return found
        reason = failed.outcome.value if isinstance(failed, CallFailedError) else BUDGET
        return PublicResult(source=None, reason=reason, detail=str(failed), final=False)

    def close(self, wait_s: float) -> None:
        """End what is running, wait so many seconds for calls under way, and close the way to the provider."""
        with self._lock:
            for process in self._running:
                _end(process)
        self._relay.close(wait_s)

    def _task(self, problem: Problem, device: str, deadline_s: float) -> dict[str, Any]:
        return {
            "model": self._options.model,
            "provider": endpoint(self._options).provider,
            "agents": self._options.agents,
            "max_rounds": self._options.max_rounds,
            "problem": problem.statement,
            "test": upstream_test(problem.test_source),
            "platform": _PLATFORMS.get(device, "cuda"),
            "test_timeout_s": int(max(deadline_s / 2, 1)),
        }

    def _redact(self, text: str) -> str:
        return self._store.redacted(text).replace(self._relay.key, "[relay]")


def upstream_test(test_source: str) -> str:
    """Return our test as the public agent wants it: it imports ``kernel_function`` from ``kernel``."""
    body, main, _ = test_source.rpartition(_MAIN)
    lines = [
        "    from kernel import kernel_function",
        "",
        "    def load_kernel(path):",
        "        return kernel_function",
        "",
        "    sys.exit(main([]))",
    ]
    return body + main + "\n" + "\n".join(lines) + "\n"


def _read(result: Path, code: int, problem: Problem, log: Path, redact: Callable[[str], str]) -> PublicResult:
    try:
        told: dict[str, Any] = json.loads(result.read_text())
    except (OSError, ValueError):
        lines = log.read_text(errors="replace").strip().splitlines() or ["it said nothing"]
        return PublicResult(source=None, reason="upstream", detail=f"it ended with code {code}: {lines[-1]}")
    source = told.get("kernel_code") if told.get("success") else None
    if not isinstance(source, str):
        return PublicResult(source=None, reason="rounds", detail=str(told.get("message", "no kernel")))
    source = redact(source)
    with contextlib.suppress(SyntaxError):
        source = with_imports(export_as(source, problem.operator.kernel_function))
    return PublicResult(source=source.rstrip("\n") + "\n")


def _environment(options: AgentOptions, device: str, *, address: str = "", key: str = "") -> dict[str, str]:
    """Return what the public agent finds itself and the relay by, and nothing secret."""
    names = endpoint(options).provider.upper()
    environment = {name: value for name, value in process_environment().items() if not is_secret(name)}
    environment |= {f"{names}_API_KEY": key, f"{names}_BASE_URL": address}
    for name in ("NO_PROXY", "no_proxy"):
        environment[name] = ",".join(part for part in (environment.get(name, ""), "127.0.0.1") if part)
    if options.upstream_path:
        parts = [str(Path(options.upstream_path).resolve()), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
    if device == "cpu":
        environment["TRITON_INTERPRET"] = "1"
    return environment


def _wait(process: subprocess.Popen[bytes], deadline: float, stopped: Callable[[], bool]) -> bool:
    """Wait for the process; at the deadline, or when the run is stopped, kill it and all that it started."""
    while process.poll() is None and time.monotonic() < deadline and not stopped():
        time.sleep(_POLL_S)
    in_time = process.poll() is not None
    _end(process)
    return in_time


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started; safe to call twice."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _clean(work: Path, redact: Callable[[str], str]) -> None:
    """Take secrets out of every text that the public agent wrote."""
    for path in work.rglob("*"):
        if path.is_file() and not path.is_symlink():
            text = path.read_bytes().decode(errors="surrogateescape")
            cleaned = redact(text)
            if cleaned != text:
                path.write_bytes(cleaned.encode(errors="surrogateescape"))
