"""What contained code may use up, and that within these bounds kernels work."""

from __future__ import annotations

import pytest

from kagent_bench.evaluate.containment import ContainmentReport, Step
from tests.integration.contained import NAMESPACES, Server, need


def test_files_are_limited_in_size(server: Server) -> None:
    """A file beyond the limit is an error, not a full disk."""
    outcome = server.run(
        "tell(attempt(lambda: Path('big').write_bytes(bytes(2 << 20))))", changes={"file_size_bytes": 1 << 20}
    )
    assert "OSError" == outcome.told[0]


def test_scratch_is_limited_in_size(server: Server, machine: ContainmentReport) -> None:
    """Many small files fill the scratch, not the disk."""
    need(machine, Step.SCRATCH_LIMIT)
    outcome = server.run(
        """
        tell(attempt(lambda: [Path(f"file{number}").write_bytes(bytes(1 << 20)) for number in range(20)]))
        """,
        changes={"scratch_bytes": 8 << 20},
    )
    assert "OSError" == outcome.told[0]


@pytest.mark.parametrize("cuda", [False, True])
def test_memory_is_limited(server: Server, *, cuda: bool) -> None:
    """An allocation beyond the limit fails inside the candidate, one below it succeeds."""
    outcome = server.run(
        "tell([attempt(lambda: len(bytearray(size << 20))) for size in (32, 512)])",
        changes={"memory_bytes": 128 << 20, "cuda": cuda},
    )
    assert [str(32 << 20), "MemoryError"] == outcome.told[0]


def test_a_fork_bomb_is_bounded(server: Server, machine: ContainmentReport) -> None:
    """Processes run out inside, and all of them end with the candidate."""
    need(machine, Step.PROCESS_LIMIT, Step.PID_NAMESPACE)
    outcome = server.run(
        """
        made = 0
        try:
            while made < 5000:
                if not os.fork():
                    time.sleep(60)
                    os._exit(0)
                made += 1
        except OSError as error:
            tell([made, error.errno])
        """,
        changes={"max_processes": 310},
    )
    made, _ = outcome.told[0]
    assert 250 < made <= 310
    assert outcome.all_died


def test_compilers_and_lazy_imports_work(server: Server) -> None:
    """Programs of the system can be run and modules imported late."""
    outcome = server.run(
        """
        import subprocess, sqlite3, numpy, zoneinfo
        shell = subprocess.run(["sh", "-c", "echo $((6 * 7)) > f; cat f"], capture_output=True, text=True)
        tell([shell.stdout, float(numpy.fft.fft(numpy.ones(4))[0].real), shell.stderr])
        """
    )
    assert [["42\n", 4.0, ""]] == outcome.told


_KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def kernel(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.mark.parametrize("without", [(), NAMESPACES], ids=["namespaces", "bare"])
def test_triton_interprets_a_kernel_inside(server: Server, without: tuple[Step, ...]) -> None:
    """The whole point: torch and Triton's interpreter work contained, forked from a preloaded server."""
    pytest.importorskip("triton")
    (server.folder / "scratch" / "kernel.py").write_text(_KERNEL)
    outcome = server.run(
        """
        sys.path.insert(0, os.getcwd())
        import kernel, torch
        x = torch.arange(100, dtype=torch.float32)
        tell(bool(torch.equal(kernel.kernel(x), x * 2)))
        """,
        before="""
        os.environ["TRITON_INTERPRET"] = "1"
        import torch, triton, triton.language
        """,
        without=without,
    )
    assert [True] == outcome.told
