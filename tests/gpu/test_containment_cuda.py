"""Contained candidates on a GPU: the driver starts, Triton compiles, limits hold, buffers arrive from the oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

_KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def kernel(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out
"""
_SERVER = """
import json, os, pickle, sys, time
from pathlib import Path
from dataclasses import replace
import torch, triton, triton.language
from torch.multiprocessing.reductions import reduce_tensor
from kagent_bench.evaluate.containment import Step, clean_environment, contain, cuda_shared_files, default_policy

folder = Path(sys.argv[1])
scratch = folder / "scratch"
policy = default_policy(
    scratch,
    cuda=True,
    secrets=(folder / "secret",),
    environment=clean_environment(scratch, interpret=False, inherited=os.environ),
    without=frozenset(Step(name) for name in sys.argv[2:]),
)
to_oracle, to_server = os.pipe(), os.pipe()
handle_reader, handle_writer = os.pipe()
oracle = os.fork()
if not oracle:
    given = torch.ones(1 << 20, device="cuda")
    handle = pickle.dumps(reduce_tensor(given))
    os.write(to_server[1], b"exported")
    os.write(handle_writer, handle)
    os.close(handle_writer)
    os.close(to_oracle[1])
    os.read(to_oracle[0], 1)
    torch.cuda.synchronize()
    print(json.dumps({"oracle_sum": float(given.sum())}), flush=True)
    os._exit(0)
os.close(handle_writer)
os.read(to_server[0], 8)
policy = replace(policy, shared=cuda_shared_files(oracle))
begin = time.monotonic()
pid = os.fork()
if not pid:
    try:
        report = contain(policy, keep_fds={1, 2, handle_reader, to_oracle[1]})
        contained = time.monotonic()
        x = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
        torch.cuda.synchronize()
        started = time.monotonic()
        sys.path.insert(0, str(scratch))
        import kernel
        y = kernel.kernel(x)
        torch.cuda.synchronize()
        compiled = time.monotonic()
        with open(handle_reader, "rb") as pipe:
            rebuild, arguments = pickle.loads(pipe.read())
        shared = rebuild(*arguments)
        received = float(shared.sum())
        shared.add_(1)
        torch.cuda.synchronize()
        try:
            pinned = torch.ones(8 << 20).pin_memory().numel()
        except Exception as error:
            pinned = repr(error)
        try:
            hog = len(bytearray(12 << 30))
        except MemoryError:
            hog = "MemoryError"
        print(json.dumps({
            "report": report.to_json(),
            "right": bool(torch.equal(y, x * 2)),
            "received": received,
            "pinned": pinned,
            "hog": hog,
            "threads": len(os.listdir("/proc/self/task")),
            "contain_s": contained - begin,
            "cuda_s": started - contained,
            "triton_s": compiled - started,
        }), flush=True)
        del shared
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(99)
    os._exit(0)
os.close(handle_reader)
os.close(to_oracle[1])
_, status = os.waitpid(pid, 0)
os.waitpid(oracle, 0)
print(json.dumps({"status": os.waitstatus_to_exitcode(status)}))
"""


@pytest.mark.parametrize(
    "without",
    [
        (),
        ("landlock_files", "landlock_tcp", "landlock_scopes"),
        ("user_namespace", "mount_namespace", "pid_namespace", "network_namespace", "ipc_namespace"),
    ],
    ids=["all", "without-landlock", "without-namespaces"],
)
def test_a_contained_candidate_uses_the_gpu(tmp_path: Path, without: tuple[str, ...]) -> None:
    """CUDA starts, Triton compiles, a buffer of the oracle arrives, host memory is limited, secrets are safe."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    (tmp_path / "scratch").mkdir()
    (tmp_path / "scratch" / "kernel.py").write_text(_KERNEL)
    (tmp_path / "secret").write_text("the seed")
    done = subprocess.run(
        [sys.executable, "-c", _SERVER, str(tmp_path), *without],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=dict(os.environ),
    )
    assert 0 == done.returncode, done.stderr
    told: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        told |= json.loads(line)
    assert 0 == told["status"], done.stderr
    assert told["right"]
    assert float(1 << 20) == told["received"]
    assert float(2 << 20) == told["oracle_sum"]
    assert 8 << 20 == told["pinned"]
    assert "MemoryError" == told["hog"]
    assert told["report"]["secrecy"], told["report"]["secrecy_reason"]
