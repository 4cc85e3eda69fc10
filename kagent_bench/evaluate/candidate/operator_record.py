"""What torch itself records of a call: every operator, in all threads, also below the dispatch mode.

Its execution trace is taken where each operator begins. The profiler would tell the same, after imports that take
seconds in each new process.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torch.profiler import ExecutionTraceObserver

MOST_NAMES = 256
"""Operators that are told of."""


@contextmanager
def record_operators() -> Iterator[list[str]]:
    """Record meanwhile; the list holds the names (``aten::relu``), each once, when that is over."""
    names: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        observer = ExecutionTraceObserver().register_callback(str(trace))
        observer.start()
        try:
            yield names
        finally:
            observer.stop()
            observer.unregister_callback()
        names += sorted({node["name"] for node in json.loads(trace.read_bytes())["nodes"]})[:MOST_NAMES]
