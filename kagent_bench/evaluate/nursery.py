"""The process that helpers are forked from: it has imported torch once, for all of them.

It is started with an allow-listed environment, holds nothing of a run, calls nothing that it imported, and has one
thread. There is one for oracles and one for the servers of candidates, so that what a candidate knows of its own
memory says nothing about an oracle's.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import sys

from kagent_bench.evaluate.protocol import Channel, Closed
from kagent_bench.throwaway import leave


def _become(request: dict[str, str | list[str]], channel: int, log: int) -> None:
    """Turn this fork into a helper, up to its first own step."""
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ["TRITON_INTERPRET"] = str(request["interpret"])
    sys.argv = [str(request["module"]), str(channel), *request["arguments"]]


def _reap() -> None:
    """Take leave of helpers that have ended, so that their processor time counts; a pidfd tells others of their end."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Serve the channel whose descriptor is the first argument; the others are modules to import before."""
    atexit.register(leave)  # called last, also in helpers: to take modules apart is to copy a fork's memory
    channel = Channel.from_descriptor(int(sys.argv[1]))
    gc.disable()  # there is little to collect while modules are imported, and much to look at
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.enable()
    gc.collect()
    gc.freeze()
    while True:
        try:
            request, descriptors = channel.receive()
        except Closed:
            _reap()
            return
        _reap()
        pid = os.fork()
        if not pid:
            channel.close()
            _become(request, *descriptors)
            break
        pidfd = os.pidfd_open(pid)
        channel.send({"pid": pid}, (pidfd,))
        for descriptor in (pidfd, *descriptors):
            os.close(descriptor)
    importlib.import_module(request["module"]).main()


if __name__ == "__main__":
    main()
