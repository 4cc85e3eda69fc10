"""Records problem files: ``python -m kagent_bench.evaluate.modules.recorder JOBS``, a throwaway process.

It warms up PyTorch's export once and forks a contained child for each file. A child that loops is killed at its
deadline, one that dies is a fault of its file; the others go on. This process itself runs no code of the user's.

``JOBS`` is a JSON file: ``jobs`` (each with ``path``, ``root``, ``text``, ``stem`` and ``result``, the file to write), ``timeout_s``,
``workers``, ``memory_bytes`` and ``scratch``. A result is ``{"module": ..., "case": ...}`` or ``{"fault": ...}``.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from kagent_bench.evaluate.containment import contain, default_policy
from kagent_bench.evaluate.modules.problem_file import read_problem
from kagent_bench.model.identity import encode_case
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program import Fault
from kagent_bench.model.program_json import encode_module

MAX_RESULT_BYTES = 64 << 20
"""Bound of what a child may send."""
MAX_MESSAGE_BYTES = 12 << 20
"""Largest problem that fits into a message between supervisor and oracle with room for its case."""
_READ_BYTES = 1 << 16


@dataclass(slots=True, kw_only=True)
class _Child:
    """A file that is being recorded."""

    pid: int
    reader: int
    deadline: float
    result: Path
    scratch: Path
    data: bytearray


def main(arguments: list[str]) -> None:
    """Record every job of the file that the only argument names."""
    request = json.loads(Path(arguments[0]).read_bytes())
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    _warm_up()
    gc.collect()
    gc.freeze()
    pending = list(request["jobs"])
    running: list[_Child] = []
    while pending or running:
        while pending and len(running) < request["workers"]:
            running.append(_start(pending.pop(0), request))
        running = _wait(running, request["timeout_s"])


def _warm_up() -> None:
    """Import what an export needs, so that no child has to."""
    with torch.no_grad():
        exported = torch.export.export(torch.nn.Linear(2, 2), (torch.zeros(1, 2),), strict=False)
        exported.run_decompositions({})


def _start(job: dict[str, Any], request: dict[str, Any]) -> _Child:
    reader, writer = os.pipe()
    scratch = Path(tempfile.mkdtemp(prefix="kab-problem-", dir=request["scratch"]))
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            _be_child(job, request, scratch, writer)
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    os.set_blocking(reader, False)
    return _Child(
        pid=pid,
        reader=reader,
        deadline=time.monotonic() + request["timeout_s"],
        result=Path(job["result"]),
        scratch=scratch,
        data=bytearray(),
    )


def _be_child(job: dict[str, Any], request: dict[str, Any], scratch: Path, writer: int) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    root = Path(job["root"])
    policy = replace(default_policy(scratch, readable=(root,)), memory_bytes=request["memory_bytes"])
    contain(policy, keep_fds={0, 1, 2, writer})
    found = read_problem(Path(job["path"]), ModuleName(job["stem"]), source=job["text"], root=root)
    if isinstance(found, Fault):
        text = _fault_text(found.reason, found.detail)
    else:
        text = json.dumps({"module": encode_module(found.module), "case": encode_case(found.case)})
        if len(text) > MAX_MESSAGE_BYTES:
            text = _fault_text("too_large", f"the problem takes {len(text)} bytes as data")
    with open(writer, "wb") as file:
        file.write(text.encode())


def _wait(running: list[_Child], timeout_s: float) -> list[_Child]:
    """Read what children send until one of them has ended; return those that go on."""
    readers = {child.reader: child for child in running}
    latest = min(child.deadline for child in running)
    ready, _, _ = select.select(list(readers), [], [], max(0.0, latest - time.monotonic()))
    ended = []
    for reader in ready:
        child = readers[reader]
        chunk = os.read(reader, _READ_BYTES)
        child.data += chunk
        if not chunk or len(child.data) > MAX_RESULT_BYTES:
            ended.append(child)
            _finish(child, "")
    for child in running:
        if child not in ended and time.monotonic() >= child.deadline:
            ended.append(child)
            detail = f"recording the file took more than {timeout_s:g} s"
            _finish(child, _fault_text("problem_timeout", detail))
    return [child for child in running if child not in ended]


def _finish(child: _Child, text: str) -> None:
    """End a child, and write its result or the fault that its end is."""
    if text:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
    _, status = os.waitpid(child.pid, 0)
    os.close(child.reader)
    shutil.rmtree(child.scratch, ignore_errors=True)
    if not text:
        try:
            json.loads(child.data)
            text = child.data.decode()
        except ValueError:
            text = _fault_text("problem_crashes", f"the file's process ended with {_ending(status)}")
    temporary = child.result.with_suffix(".partial")
    temporary.write_text(text)
    temporary.replace(child.result)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _fault_text(reason: str, detail: str) -> str:
    return json.dumps({"fault": {"reason": reason, "detail": detail}})


if __name__ == "__main__":
    main(sys.argv[1:])
