"""The helper processes as seen by the supervisor: one fork server, and an oracle for each worker."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from kagent_bench.errors import HarnessFault, UsageError
from kagent_bench.evaluate.environment import trusted_environment
from kagent_bench.evaluate.protocol import Channel, Closed, DeadlineExceeded, ProtocolError

START_S = 120.0
"""Seconds for a helper to import torch and answer."""
STOP_S = 2.0
"""Seconds for a helper to end after its channel closed."""


class HelperLost(Exception):
    """A helper process died or did not answer in time."""


class Nursery:
    """Processes that have imported what helpers need, and that helpers are forked from; started at the first need."""

    MODULE = "kagent_bench.evaluate.nursery"

    def __init__(self, imports: str, own_environment: dict[str, str]) -> None:
        """Take the module that is imported before any helper is forked, and this process's environment."""
        self._imports = imports
        self._environment = trusted_environment(own_environment, interpreter=False)
        self._lock = threading.Lock()
        self._log: _Log | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    def begin(self) -> None:
        """Start it, if it was not; does not wait."""
        with self._lock:
            self._begin()

    def _begin(self) -> Channel:
        if self._channel is not None:
            return self._channel
        self._log = _Log()
        mine, theirs = Channel.pair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", self.MODULE, str(theirs.fileno()), self._imports],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=self._log.file,
                stderr=self._log.file,
                env=self._environment,
                start_new_session=True,
            )
        finally:
            theirs.close()
        self._channel = mine
        return mine

    def fork(self, request: dict[str, Any], descriptors: tuple[int, ...]) -> int:
        """Fork a helper; returns its pidfd, which the caller owns.

        Raises:
            HarnessFault: it cannot be started.
        """
        with self._lock:
            channel = self._begin()
            try:
                channel.send(request, descriptors)
                return channel.receive(time.monotonic() + START_S)[1][0]
            except (Closed, DeadlineExceeded, ProtocolError) as error:
                said = self._stop()
                message = f"{request['module']} did not start: {said}"
                raise HarnessFault(
                    message, hint="run kab doctor; are torch and triton installed and working?"
                ) from error

    def stop(self) -> None:
        """End it; helpers that it forked go on."""
        with self._lock:
            self._stop()

    def _stop(self) -> str:
        """End it; returns what it said last."""
        if self._process is None or self._channel is None or self._log is None:
            return ""
        self._channel.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process, self._channel = None, None
        self._log.close()
        return self._log.tail()


class _Log:
    """What a process printed, also after the file is closed."""

    def __init__(self) -> None:
        """Open an empty file."""
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._printed: list[str] = []

    def tail(self, lines: int = 3) -> str:
        """Return the last lines."""
        if not self.file.closed:
            self.file.seek(0)
            self._printed = self.file.read().decode(errors="replace").strip().splitlines()
        return " | ".join(self._printed[-lines:]) or "it printed nothing"

    def close(self) -> None:
        """Close the file, keep what it says."""
        self.tail()
        self.file.close()


class Helper:
    """A Python module running in its own process, answering requests on a channel."""

    def __init__(self, nursery: Nursery, module: str, *arguments: str, interpreter: bool) -> None:
        """Have a module's ``main`` called in a fork of a nursery, with the channel's descriptor and arguments.

        Raises:
            HarnessFault: the nursery does not start.
        """
        self.module = module
        self._ending = threading.Lock()
        self._log = _Log()
        self._channel, theirs = Channel.pair()
        self._pidfd = -1
        request = {"module": module, "arguments": arguments, "interpret": str(int(interpreter))}
        try:
            self._pidfd = nursery.fork(request, (theirs.fileno(), self._log.file.fileno()))
        except BaseException:
            self._channel.close()
            self._log.close()
            raise
        finally:
            theirs.close()

    def request(
        self, message: dict[str, Any], descriptors: tuple[int, ...] = (), *, timeout_s: float
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Send a request and return the answer with its descriptors.

        Raises:
            HelperLost: no answer; the process is then stopped.
        """
        try:
            self._channel.send(message, descriptors)
            return self._channel.receive(time.monotonic() + timeout_s)
        except (Closed, DeadlineExceeded, ProtocolError) as error:
            self.stop()
            reason = "did not answer in time" if isinstance(error, DeadlineExceeded) else "ended unexpectedly"
            raise HelperLost(f"{self.module} {reason}: {self.log_tail()}") from error

    def receive(self, *, timeout_s: float) -> dict[str, Any]:
        """Return a message that was not asked for, as the first one.

        Raises:
            HelperLost: none came.
        """
        try:
            return self._channel.receive(time.monotonic() + timeout_s)[0]
        except (Closed, DeadlineExceeded, ProtocolError) as error:
            self.stop()
            raise HelperLost(f"{self.module} did not start: {self.log_tail()}") from error

    def log_tail(self) -> str:
        """Return the last lines that the process printed, also after it was stopped."""
        return self._log.tail()

    def stop(self) -> None:
        """Close the channel and end the process; safe to call twice, and from two threads."""
        self._channel.close()
        with self._ending:
            if self._pidfd < 0:
                return
            if not ended_within(self._pidfd, STOP_S):
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
                ended_within(self._pidfd, STOP_S)
            os.close(self._pidfd)
            self._pidfd = -1
            self._log.close()


class Oracle:
    """The trusted process of one worker; restarted if a reference brings it down."""

    MODULE = "kagent_bench.evaluate.oracle.__main__"

    def __init__(self, hello: dict[str, Any], nursery: Nursery, *, case_timeout_s: float) -> None:
        """Start it; ``hello`` is the first request, with seed, device, limits, rounds and policy."""
        self.hello = hello
        """First request; changed before ``greet`` to change the settings."""
        self._nursery = nursery
        self._case_timeout_s = case_timeout_s
        self._helper = self._start()
        self.machine: dict[str, Any] | None = None

    def _start(self) -> Helper:
        # Only torch.compile as a baseline uses Triton here, and there it is to compile.
        return Helper(self._nursery, self.MODULE, interpreter=False)

    def greet(self) -> dict[str, Any]:
        """Send the settings and return the machine's description.

        Raises:
            UsageError: the device is not there.
            HarnessFault: it does not start.
        """
        try:
            machine, _ = self._helper.request(self.hello, timeout_s=START_S)
        except HelperLost as error:
            raise HarnessFault(str(error), hint="run kab doctor; is torch installed and working?") from error
        if "error" in machine:
            raise UsageError(machine["error"], hint=machine["hint"])
        self.machine = machine
        return machine

    def request(self, message: dict[str, Any]) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Ask the oracle; if that brings it down, start another one.

        Raises:
            HelperLost: it died or hung over this request; a fresh one is ready.
        """
        try:
            return self._helper.request(message, timeout_s=self._case_timeout_s)
        except HelperLost:
            self._helper = self._start()
            self.greet()
            raise

    def stop(self) -> None:
        """End the process."""
        self._helper.stop()


class ForkServer:
    """The process that candidates are forked from; shared by all workers."""

    MODULE = "kagent_bench.evaluate.candidate.server"

    IMPORTS = "torch"
    """What its nursery imports: not triton, which works in another way where it is to interpret."""

    def __init__(self, nursery: Nursery, *, interpreter: bool) -> None:
        """Start it; ``wait_ready`` before the first fork."""
        self.interpreter = interpreter
        self.folder = Path(tempfile.mkdtemp(prefix="kab-candidates-"))
        """Where each candidate gets a folder of its own; it ends with the server, whatever ends that."""
        self._helper = Helper(nursery, self.MODULE, str(self.folder), interpreter=interpreter)
        self._lock = threading.Lock()
        self.versions: dict[str, str] = {}

    def wait_ready(self) -> None:
        """Wait until torch and triton are loaded.

        Raises:
            HarnessFault: it does not start.
        """
        try:
            ready = self._helper.receive(timeout_s=START_S)
        except HelperLost as error:
            raise HarnessFault(str(error), hint="run kab doctor; is triton installed and working?") from error
        self.versions = {"triton": ready["triton"], "numpy": ready["numpy"]}

    def fork(self, request: dict[str, Any], descriptors: tuple[int, ...]) -> tuple[int, int]:
        """Fork a candidate; returns its process id and a pidfd that the caller owns.

        Raises:
            HarnessFault: the server is gone.
        """
        answer, received = self._ask({"do": "fork", **request}, descriptors)
        return answer["pid"], received[0]

    def reap(self, pid: int) -> int:
        """Return the wait status of a candidate that has ended.

        Raises:
            HarnessFault: the server is gone.
        """
        answer, _ = self._ask({"do": "reap", "pid": pid}, ())
        return int(answer["status"])

    def _ask(
        self, message: dict[str, Any], descriptors: tuple[int, ...]
    ) -> tuple[dict[str, Any], tuple[int, ...]]:
        with self._lock:
            try:
                return self._helper.request(message, descriptors, timeout_s=START_S)
            except HelperLost as error:
                raise HarnessFault(
                    str(error), hint="what was judged is stored; run the command again"
                ) from error

    def stop(self) -> None:
        """End the process, and with it every candidate and their files."""
        self._helper.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def looks_like_gpu_machine() -> bool:
    """Guess without torch whether kernels will be compiled; the oracle's answer decides."""
    return any(Path(path).exists() for path in ("/dev/nvidia0", "/dev/kfd", "/dev/dri/renderD128"))


def ended_within(pidfd: int, seconds: float) -> bool:
    """Wait until a process has ended; return whether it has."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def close_quietly(*descriptors: int) -> None:
    """Close descriptors, ignoring those that are closed already."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
