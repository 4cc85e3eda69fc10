"""The fork server: preloads torch and triton, then forks one contained process per kernel.

It holds no seed, no tolerance and no oracle code, runs no torch operator, does not touch CUDA, and has one thread.
It is started with an allow-listed environment in which TRITON_INTERPRET is already right.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import os
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton
import triton.compiler.code_generator
import triton.language

from kagent_bench.evaluate.candidate import runner
from kagent_bench.evaluate.candidate.huge_pages import use_huge_pages
from kagent_bench.evaluate.precision import full_float32
from kagent_bench.evaluate.protocol import Channel, Closed

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
STRAY_GRACE_S = 5.0
"""Seconds for killed strays to be gone; one that hangs in a driver is left to the next round."""
STRAY_PAUSE_S = 0.001


class Server:
    """Forks children, hands out their pidfds, and reaps them."""

    def __init__(self, channel: Channel) -> None:
        """Serve the given channel."""
        self._channel = channel
        self._children: set[int] = set()

    def serve(self) -> None:
        """Answer requests until the channel closes."""
        while True:
            request, descriptors = self._channel.receive()
            if request["do"] == "fork":
                self._fork(request, descriptors)
            else:
                self._channel.send({"status": self._reap(request["pid"])})

    def _fork(self, request: dict[str, Any], descriptors: tuple[int, ...]) -> None:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                self._channel.close()
                os.setsid()
                status = runner.run(request, *descriptors)
            finally:
                os._exit(status)
        self._children.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        pidfd = os.pidfd_open(pid)
        self._channel.send({"pid": pid}, (pidfd,))
        os.close(pidfd)

    def end(self) -> None:
        """Kill and reap every child, and what they left behind."""
        for pid in tuple(self._children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._reap(pid)

    def _reap(self, pid: int) -> int:
        """Return the wait status of a child that has ended, and end what it left behind."""
        _, status = os.waitpid(pid, 0)
        self._children.discard(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        self._end_strays()
        return status

    def _end_strays(self) -> None:
        """Kill and reap what the child left behind.

        None is waited for by itself: the first process of a dying namespace ends only after those in it are
        reaped, and they may be children of this process too.
        """
        deadline = time.monotonic() + STRAY_GRACE_S
        while (strays := self._strays()) and time.monotonic() < deadline:
            for stray in strays:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(stray, signal.SIGKILL)
                    os.waitpid(stray, os.WNOHANG)
            time.sleep(STRAY_PAUSE_S)

    def _strays(self) -> list[int]:
        """Return children that this process did not fork: orphans that it inherited as subreaper."""
        listing = Path(f"/proc/self/task/{os.getpid()}/children")
        try:
            children = [int(pid) for pid in listing.read_text().split()]
        except OSError:
            return []
        return [pid for pid in children if pid not in self._children]


def main() -> None:
    """Serve the channel whose descriptor is the first argument; the second is the folder of its children's files.

    However the supervisor ends, the channel closes; where that goes unseen because a child is waited for, a signal
    comes. The folder goes with the server, so that a killed run leaves no file behind.
    """
    parent = os.getppid()

    def leave(*_: object) -> None:
        if os.getppid() != parent:  # else only a thread of it has ended, which sends the signal too
            raise SystemExit

    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGTERM, leave)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    full_float32()
    runner.preload()
    gc.collect()
    gc.freeze()
    channel = Channel.from_descriptor(int(sys.argv[1]))
    server = Server(channel)

    def clean() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.end()
        shutil.rmtree(sys.argv[2], ignore_errors=True)

    atexit.register(clean)  # children leave by os._exit, which does not come here
    with contextlib.suppress(Closed):
        channel.send({"ready": True, "triton": triton.__version__, "numpy": np.__version__})
        use_huge_pages()
        server.serve()


if __name__ == "__main__":
    main()
