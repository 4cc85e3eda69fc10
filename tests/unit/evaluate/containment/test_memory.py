"""The memory of a process tree."""

from __future__ import annotations

import subprocess
import sys

from kagent_bench.evaluate.containment.memory import descendants, rss_bytes

_MIB = 1 << 20
_HOLDS_64_MIB_IN_A_GRANDCHILD = """
import os, sys
if not os.fork():
    hog = b"x" * (64 << 20)
    print(os.getpid(), flush=True)
    sys.stdin.read()
    os._exit(0)
os.wait()
"""


def test_memory_of_descendants_counts() -> None:
    """What a child's child holds is seen from outside, and gone when it has ended."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDS_64_MIB_IN_A_GRANDCHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        grandchild = int(process.stdout.readline())
        assert [process.pid, grandchild] == descendants(process.pid)
        assert 64 * _MIB <= rss_bytes(process.pid) < 256 * _MIB
        assert rss_bytes(grandchild) < rss_bytes(process.pid)
        process.communicate("")
    assert 0 == rss_bytes(process.pid)
