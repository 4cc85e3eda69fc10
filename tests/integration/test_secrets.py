"""Keys of whoever runs ``kab`` are nowhere but where they are used: one run of all phases with planted keys."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.plugins.kernelagent.server import Asked, ModelServer, Say

if TYPE_CHECKING:
    from tests.integration.conftest import Command

KEYS = {
    "OPENAI_API_KEY": "sk-planted-0c6e2f9a71b3",
    "ANTHROPIC_API_KEY": "sk-planted-5d84e1b7a902",
    "HF_TOKEN": "hf_planted-93fa0e6c1d25",
    "KAGENT_SECRET_TOKEN": "planted-77b0c4e2d9f1",
}
"""Planted into the environment of the command; the first one is used by it."""
POLL_S = 0.05
SEARCH = r"""
import glob, os, re


def search():
    found = set(re.findall("planted-[0-9a-f]+", repr(os.environ)))
    folders = [os.getcwd(), os.environ.get("HOME", "/"), "/tmp", FOLDER, FOLDER + "/*", FOLDER + "/*/*", FOLDER + "/*/*/*"]
    places = [*glob.glob("/proc/*/environ"), *glob.glob("/proc/*/root" + FOLDER + "/*/*")]
    for path in places + [path for folder in folders for path in glob.glob(folder + "/*")[:300]]:
        try:
            with open(path, "rb") as file:
                found.update(re.findall("planted-[0-9a-f]+", file.read(1 << 16).decode(errors="replace")))
        except OSError:
            pass
    return sorted(found)
"""
"""A kernel's search for anything that looks like a planted key, in what it may read and in what it may not."""
RELU = """
import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(source, target, n, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + index, mask=index < n, other=0)
    tl.store(target + index, tl.where(value < 0, 0, value), mask=index < n)


def relu__default_kernel_impl(self):
    print("found", search(), "in", dict(os.environ))
    FIRST
    self = self.contiguous()
    result = torch.empty_like(self)
    if self.numel():
        relu_kernel[(triton.cdiv(self.numel(), 1024),)](self, result, self.numel(), BLOCK=1024)
    return result
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a run left."""

    folder: Path
    done: subprocess.CompletedProcess[str]
    helpers: dict[str, bytes]
    """Environments of the processes that it started, by process id."""
    asked: list[Asked]


def _answer(asked: Asked, folder: Path) -> Say:
    """Give away the key that was sent, and a kernel that tells what it finds; then one that passes."""
    told = asked.headers.get("authorization", "")
    first = 'raise RuntimeError(f"found {search()} {dict(os.environ)}")' if asked.turn == 1 else ""
    code = SEARCH.replace("FOLDER", repr(str(folder))) + RELU.replace("FIRST", first)
    return Say(text=f"You sent {told}.\n\n```python\n{code}```\n")


def _children(pid: int) -> set[str]:
    """Return the ids of a process's descendants."""
    found = [str(pid)]
    for parent in found:
        for listing in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += listing.read_text().split()
    return set(found[1:])


@pytest.fixture(scope="module")
def run(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Have a language model write a kernel that looks for keys, judge it and report it."""
    pytest.importorskip("openai")
    folder = tmp_path_factory.mktemp("secrets")
    for name in ("home", "tmp", "cache", "work"):
        (folder / name).mkdir()
    helpers: dict[str, bytes] = {}
    with ModelServer(lambda asked: _answer(asked, folder)).running() as server:
        process = command.start(
            folder / "work",
            *("run", "--suite", "smoke", "--ops", "relu", "--dtype", "fp32", "--device", "cpu"),
            *("--workflow", "kernelagent", "--model", "scripted", "--base-url", f"{server.url}/v1"),
            *("--agents", "1", "--max-rounds", "3", "--num-workers", "1", "--rounds", "2", "--verbose"),
            HOME=str(folder / "home"),
            TMPDIR=str(folder / "tmp"),
            XDG_CACHE_HOME=str(folder / "cache"),
            **KEYS,
        )
        while process.poll() is None:
            for pid in _children(process.pid):
                with contextlib.suppress(OSError):
                    helpers[pid] = Path(f"/proc/{pid}/environ").read_bytes()
            time.sleep(POLL_S)
        stdout, stderr = process.communicate()
        done = subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
        return Run(folder=folder, done=done, helpers=helpers, asked=list(server.asked))


def _leaked(data: bytes) -> list[str]:
    return [name for name, key in KEYS.items() if key.rpartition("-")[2].encode() in data]


def test_the_run_did_what_it_is_tried_for(run: Run) -> None:
    """The key reached the model's server, and the kernel was called, refused, called again and passed."""
    assert 0 == run.done.returncode, run.done.stderr
    assert {f"Bearer {KEYS['OPENAI_API_KEY']}"} == {asked.headers["authorization"] for asked in run.asked}
    assert 2 == len(run.asked)
    assert "found []" in json.dumps(run.asked[-1].body)
    assert len(run.helpers) > 3


def test_no_file_has_a_key(run: Run) -> None:
    """Kernels, attempts, transcripts, ledgers, records, reports, caches, logs, temporary files: all are read."""
    files = [path for path in run.folder.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    wanted = {
        "results.jsonl",
        "run.json",
        "provenance.json",
        "ledger.jsonl",
        "transcript.md",
        "manifest.json",
    }
    assert wanted <= names
    assert {} == {str(path): leaked for path in files if (leaked := _leaked(path.read_bytes()))}
    assert [] == _leaked("\n".join(map(str, run.folder.rglob("*"))).encode())


def test_no_output_has_a_key(run: Run) -> None:
    """Neither standard output nor messages, with everything said that can be said."""
    assert [] == _leaked((run.done.stdout + run.done.stderr).encode())


def test_no_process_has_a_key(run: Run) -> None:
    """Fork servers, oracles and candidates were looked at as long as they lived."""
    assert {} == {pid: leaked for pid, environ in run.helpers.items() if (leaked := _leaked(environ))}


def test_the_model_is_not_told_what_a_kernel_finds(run: Run) -> None:
    """What goes back over the network has no key in its body either."""
    assert [] == _leaked(json.dumps([asked.body for asked in run.asked]).encode())
