"""A folder in which two kernels of three are hostile: every verdict comes, and nothing is left but the run."""

from __future__ import annotations

import contextlib
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.model.names import OperatorName
from tests.adversarial.corpus import entries
from tests.integration.conftest import write_kernels
from tests.integration.kernels import unary

if TYPE_CHECKING:
    from tests.integration.conftest import Command

HOSTILE = """
    abort at_exit base_exception channel_garbage daemon descriptor_flood descriptors_closed disk_filled endless
    endless_import exit_at_import files_deleted fork_bomb giant_allocation giant_output kills_everyone kills_group
    many_threads memory_of_others segfault
""".split()
"""Kernels of the corpus, by name."""
VICTIMS = """
    abs ceil cos cosh deg2rad erf erfc exp2 expm1 floor frac neg round sign sinh trunc leaky_relu sin log2 exp
""".split()
"""Operators that they stand for."""
HONEST = {
    "square": "x0 * x0",
    "relu": "tl.where(x0 > 0, x0, tl.where(x0 != x0, x0, 0.0))",
    "tanh": "2.0 / (1.0 + tl.exp(-2.0 * x0)) - 1.0",
    "silu": "x0 / (1.0 + tl.exp(-x0))",
}
LIMITS = {"case": 3, "startup": 8, "kernel": 30}
PARENT_MIB = 300
"""Far above what the command needs, far below what one of these kernels tries to make it hold."""
PATIENCE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the run was like."""

    folder: Path
    printed: dict[str, Any]
    duration_s: float
    parent_mib: float


@pytest.fixture(scope="module")
def outcome(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Judge the folder while the command's memory is watched."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "tmp").mkdir()
    sources = {entry.path.name.partition(".")[0]: entry.path.read_text() for entry in entries()}
    kernels = {name: unary(expression) for name, expression in HONEST.items()}
    for victim, name in zip(VICTIMS, HOSTILE, strict=True):
        kernels[victim] = sources[f"relu__default__{name}"].replace("relu__default_kernel_impl", "KERNEL")
    write_kernels(folder / "kernels", kernels)
    limits = [word for name, value in LIMITS.items() for word in (f"--{name}-timeout", str(value))]
    started, peak_kib = time.monotonic(), 0
    with command.start(
        folder,
        *("evaluate", "--suite", "cases", "--kernels-dir", "kernels", "--ops", ",".join(kernels)),
        *("--device", "cpu", "--memory-limit", "1024", "--json", *limits),
        TMPDIR=str(folder / "tmp"),
    ) as process:
        while process.poll() is None:
            with contextlib.suppress(OSError, TypeError):
                status = Path(f"/proc/{process.pid}/status").read_text()
                peak_kib = max(peak_kib, int(re.search(r"VmHWM:\s+(\d+)", status)[1]))  # type: ignore[index]
            time.sleep(0.1)
        printed, errors = process.communicate()
        assert printed, errors
    return Outcome(
        folder=folder,
        printed=json.loads(printed),
        duration_s=time.monotonic() - started,
        parent_mib=peak_kib / 1024,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_kernel_gets_its_verdict(outcome: Outcome) -> None:
    """Honest kernels are correct beside hostile ones, and the run ends within the sum of the limits."""
    verdicts = {
        OperatorName.parse(item["op_name"]).base: item["verdict"] for item in outcome.printed["operators"]
    }
    assert {*VICTIMS, *HONEST} == set(verdicts)
    assert {"correct"} == {verdicts[name] for name in HONEST}
    assert {"missing", "skipped"}.isdisjoint(verdicts.values())
    assert outcome.duration_s < len(VICTIMS) * LIMITS["kernel"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_nothing_is_left_of_them(outcome: Outcome) -> None:
    """No process, no file outside the run, and no memory in the process that judges."""
    assert 0 < outcome.parent_mib < PARENT_MIB
    assert [] == [path.name for path in (outcome.folder / "tmp").iterdir()]
    assert {"kernels", "log_BackendBench", "tmp"} == {path.name for path in outcome.folder.iterdir()}
    deadline = time.monotonic() + PATIENCE_S
    while (left := _processes_of(outcome.folder)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [] == left


def _processes_of(folder: Path) -> list[str]:
    """Return the processes that have the folder for temporary files, or work in it."""
    wanted = str(folder / "tmp").encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (process / "environ").read_bytes() + bytes((process / "cwd").readlink()):
                found.append(process.name)
    return found
