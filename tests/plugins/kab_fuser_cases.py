"""Composes problem files, and runs what comes of some in Triton's interpreter beside PyTorch.

Arguments are ``OUT PROBLEM ... --run PROBLEM ...``. One JSON line is printed for each problem: its name, the hash of
what was written, and of those that are run the largest relative difference and what stays with the library. It is called
in a process of its own with TRITON_INTERPRET=1, see ``fuser_process``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from kab_baseline.generator import BaselineGenerator
from kab_fuser.options import FuserOptions
from kab_fuser.pipeline import Pipeline
from kab_fuser.region_store import RegionStore
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.evaluate.candidate.triton_hooks import quicken_interpreter
from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.modules.problem_file import Recorded, read_problem
from kagent_bench.evaluate.oracle import inputs, reference
from kagent_bench.evaluate.oracle.semantics import module_semantics
from kagent_bench.hooks.protocols import Attempt, GenerationRequest
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program import Fault
from kagent_bench.model.selection import OperatorCases

TOLERANCE = {"float32": 1e-5, "float16": 1e-3}
SEED = b"a seed of the tests, of 32 bytes "


def compose(path: Path, out: Path, *, run: bool) -> dict[str, Any]:
    """Compose one problem file and compare; returns what is printed."""
    found = read_problem(path, ModuleName(path.stem))
    if isinstance(found, Fault):
        return {"name": path.stem, "fault": found.reason, "detail": found.detail}
    item = OperatorCases(operator=found.module.name, kind="module", cases=(found.case,), module=found.module)
    request = GenerationRequest(
        problem=build_problem(item, TOLERANCE),
        device="cpu",
        tolerance=TOLERANCE,
        judge=lambda source: Attempt(source=source, verdict="correct", feedback=""),
    )
    folder = out / path.stem
    pipeline = Pipeline(
        request=request,
        options=FuserOptions(route="regions"),
        inner=BaselineGenerator(),
        table={},
        store=RegionStore(folder=out / "store", scope=path.stem),
        folder=folder,
        lock_of=lambda _: threading.Lock(),
    )
    result = pipeline.run()
    if result.source is None:
        return {"name": path.stem, "fault": result.reason, "detail": result.detail}
    written = b"".join((folder / name).read_bytes() for name in ("composed_kernel.py", "subgraphs.json"))
    line = {"name": path.stem, "sha256": hashlib.sha256(written).hexdigest()}
    return {**line, **_compared(found, folder / "composed_kernel.py")} if run else line


def _compared(found: Recorded, path: Path) -> dict[str, Any]:
    kernel = _load(path)
    semantics = module_semantics(found.module.program, found.case)
    storages = inputs.draw(found.case, semantics, "as_given", inputs.generator(SEED, found.case.id, 0))
    expected = reference.run(ProgramRun(found.module.program), found.case, storages)

    def call(*args: Any, **state: torch.Tensor) -> Any:
        return kernel.kernel_function(*args, **state)

    got = reference.run(call, found.case, storages)
    pairs = zip(got.leaves + got.storages, expected.leaves + expected.storages, strict=True)
    return {
        "difference": max(_difference(ours, theirs) for ours, theirs in pairs),
        "eager": list(kernel.EAGER),
    }


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"composed_{path.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not ours.numel():
        return 0.0
    left, right = ours.double(), theirs.double()
    if not torch.equal(left.isnan(), right.isnan()):
        return float("inf")
    return float(torch.nan_to_num((left - right).abs() / (1 + right.abs()), nan=0.0, posinf=0.0).max())


def main(arguments: list[str]) -> None:
    """Compose the problems of the command line."""
    torch.set_num_threads(1)
    quicken_interpreter()
    printed = sys.stdout
    place = arguments.index("--run")
    folder, *problems = arguments[:place]
    for argument in problems:
        # With AMX, oneDNN's products in bfloat16 spread NaN to other rows (torch 2.13).
        with contextlib.redirect_stdout(sys.stderr), torch.backends.mkldnn.flags(enabled=False):
            line = compose(Path(argument), Path(folder), run=argument in arguments[place:])
        printed.write(json.dumps(line) + "\n")
        printed.flush()
