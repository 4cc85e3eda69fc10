"""Ending what a candidate left behind."""

from __future__ import annotations

import subprocess
import sys

_LEAVES_STRAYS = """
import os, select, sys, time
from kagent_bench.evaluate.containment import adopt_strays, end_strays
adopt_strays()
reader, writer = os.pipe()
spared_reader, spared_writer = os.pipe()
spared = os.fork()
if not spared:
    os.close(writer)
    time.sleep(60)
    os._exit(0)
os.close(spared_writer)
candidate = os.fork()
if not candidate:
    if not os.fork():
        os.setsid()
        if not os.fork():
            time.sleep(60)
        os._exit(0)
    os._exit(0)
os.close(writer)
os.waitpid(candidate, 0)
ended = end_strays({spared})
print(ended, bool(select.select([reader], [], [], 5)[0]), os.waitpid(spared, os.WNOHANG))
print(end_strays())
"""


def test_a_daemon_is_found_and_a_spared_child_goes_on() -> None:
    """A double-forked stray in its own session ends, a spared one does not, and at last nobody is left."""
    done = subprocess.run(
        [sys.executable, "-c", _LEAVES_STRAYS], capture_output=True, text=True, timeout=60, check=False
    )
    assert "True True (0, 0)\nTrue\n" == done.stdout, done.stderr
