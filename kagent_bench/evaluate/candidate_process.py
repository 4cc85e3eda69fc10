"""A candidate as seen by the supervisor: started, spoken to before a deadline, its output drained, killed, reaped."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from kagent_bench.evaluate.processes import close_quietly, ended_within
from kagent_bench.evaluate.protocol import Channel, Closed, DeadlineExceeded, ProtocolError

if TYPE_CHECKING:
    from kagent_bench.evaluate.processes import ForkServer
    from kagent_bench.model.kernel import Kernel

KILL_GRACE_S = 5.0
"""Seconds for a killed process to be gone before that is a harness fault."""
_READ_BYTES = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateLimits:
    """What a candidate may use."""

    startup_timeout_s: float
    call_timeout_s: float
    memory_bytes: int
    output_bytes: int
    secrets: tuple[Path, ...]
    """Paths that must be out of its reach."""


class Died(Exception):
    """The candidate's process ended."""

    def __init__(self, reason: str, detail: str) -> None:
        """Take the reason code, as ``signal_SIGSEGV`` or ``exit_3``, and the detail."""
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class TimedOut(Exception):
    """The candidate did not answer in time and was killed."""


class Candidate:
    """One forked process with one kernel file; use as a context manager."""

    def __init__(
        self,
        server: ForkServer,
        kernel: Kernel,
        source: bytes,
        device: str,
        limits: CandidateLimits,
        *,
        module: dict[str, Any] | None = None,
        ghost: bool = False,
        compile_target: str = "",
    ) -> None:
        """Fork the process; ``load`` waits for the kernel file.

        Args:
            server: the fork server.
            kernel: the kernel; its bytes are given apart, so that what is judged is what was hashed.
            source: the kernel file's bytes.
            device: torch's device string.
            limits: what it may use.
            module: what a module's class needs, see ``candidate.module_entry``; None for an operator.
            ghost: whether launches do nothing in it.
            compile_target: what launches are compiled for, and not run; the server must be one that compiles.
        """
        self._server = server
        self._limits = limits
        self._captured = bytearray()
        self._dropped = 0
        self._status: int | None = None
        self._scratch = Path(tempfile.mkdtemp(prefix="kernel-", dir=server.folder))
        path = self._scratch / f"{kernel.operator.kernel_stem}.py"
        path.write_bytes(source)
        mine, theirs = Channel.pair()
        self._output, output_end = os.pipe()
        os.set_blocking(self._output, False)
        request = {
            "kernel": str(path),
            "function": kernel.operator.kernel_function,
            "device": device,
            "scratch": str(self._scratch),
            "memory_bytes": limits.memory_bytes,
            "secrets": [str(secret) for secret in limits.secrets],
            "module": module,
            "ghost": ghost,
            "compile_target": compile_target,
        }
        try:
            self._pid, self._pidfd = server.fork(request, (theirs.fileno(), output_end))
        finally:
            theirs.close()
            os.close(output_end)
        self._channel = mine
        self._poller = select.poll()
        for descriptor in (mine.fileno(), self._output, self._pidfd):
            self._poller.register(descriptor, select.POLLIN)
        self.containment: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what is left of it and remove its folder."""
        try:
            self.kill()
        finally:
            self._channel.close()
            close_quietly(self._output, self._pidfd)
            shutil.rmtree(self._scratch, ignore_errors=True)

    def load(self) -> dict[str, Any]:
        """Wait for the kernel file to be loaded; returns the process's message.

        Raises:
            Died, TimedOut: it did not get that far.
        """
        deadline = time.monotonic() + self._limits.startup_timeout_s
        message = self._receive(deadline)
        if message.get("outcome") == "contained":
            self.containment = message["containment"]
            message = self._receive(deadline)
        return message

    def call(self, request: dict[str, Any], descriptors: tuple[int, ...], deadline: float) -> dict[str, Any]:
        """Have the kernel called; returns the process's description of what came back.

        Args:
            request: the oracle's call for a new case, or empty to repeat the last one with new contents.
            descriptors: the arena, when it is a new one.
            deadline: latest time of ``time.monotonic()``, besides the limit for one call.

        Raises:
            Died, TimedOut: it did not answer.
        """
        latest = min(deadline, time.monotonic() + self._limits.call_timeout_s)
        try:
            self._channel.send(request, descriptors, deadline=latest)
        except Closed:
            self._raise_death()
        except DeadlineExceeded:
            self._raise_timeout()
        return self._receive(latest)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while True:
            remaining = deadline - time.monotonic()
            ready = {descriptor for descriptor, _ in self._poller.poll(max(0.0, remaining) * 1000)}
            if self._output in ready and not self._drain():
                self._poller.unregister(self._output)
            if self._channel.fileno() in ready:
                try:
                    message, descriptors = self._channel.receive(deadline)
                except DeadlineExceeded:
                    self._raise_timeout()
                except Closed:
                    self._raise_death()
                except ProtocolError as error:
                    self.kill()
                    raise Died("broken_protocol", f"sent something that is no message: {error}") from error
                close_quietly(*descriptors)
                return message
            if self._pidfd in ready:
                self._raise_death()
            if remaining <= 0:
                self._raise_timeout()

    def _drain(self) -> bool:
        """Take what was printed, keep the limit's worth of it; False at the end of the stream."""
        while True:
            try:
                chunk = os.read(self._output, _READ_BYTES)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            room = max(0, self._limits.output_bytes - len(self._captured))
            self._captured += chunk[:room]
            self._dropped += len(chunk) - len(chunk[:room])
            if not room:
                return True

    def printed(self) -> str:
        """Return what the process printed, at most the limit."""
        text = self._captured.decode(errors="replace")
        return text + (f"\n[{self._dropped} more bytes]" if self._dropped else "")

    def _raise_timeout(self) -> None:
        self.kill()
        raise TimedOut

    def _raise_death(self) -> None:
        # A closed channel may come a moment before the end of the process.
        if not ended_within(self._pidfd, KILL_GRACE_S):
            self.kill()
            raise Died("closed_channel", "closed its channel to the harness and went on")
        self._drain()
        status = self._reap()
        tail = self.printed().strip().splitlines()[-1:]
        said = f"; last output: {tail[0][:300]}" if tail else ""
        if os.WIFSIGNALED(status):
            name = _signal_name(os.WTERMSIG(status))
            raise Died(f"signal_{name}", f"killed by {name}{said}")
        code = os.waitstatus_to_exitcode(status)
        raise Died(f"exit_{code}", f"the process exited with code {code}{said}")

    def kill(self) -> None:
        """Kill the process and everything that it started, and reap it."""
        if self._status is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        self._reap()

    def _reap(self) -> int:
        if self._status is None:
            # Waited for here, because the server serves one request at a time, also those of other workers.
            ended_within(self._pidfd, KILL_GRACE_S)
            self._status = self._server.reap(self._pid)
        return self._status


def _signal_name(number: int) -> str:
    """Return a signal's name; real-time signals have only numbers."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
