"""Writes the stored sample runs again; run it by hand when the stored schema changes.

python -m tests.golden.make_samples
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kagent_bench.model.record import CaseRecord
from kagent_bench.model.spending import Spending
from kagent_bench.model.timing import EAGER
from kagent_bench.model.verdict import CaseStatus
from kagent_bench.stores.atomic import write_text
from kagent_bench.stores.run_file import (
    INTERPRETER_LABEL,
    KernelFile,
    RunFile,
    RunState,
    SelectedCase,
    SelectedOperator,
)
from tests.timings import samples, timing

SAMPLES = Path(__file__).parent / "samples"
SETTINGS = {
    "base_dir": "generated_kernels",
    "run_dir": None,
    "num_workers": 0,
    "selection": {
        "suite": "opinfo",
        "ops": [],
        "dtype": ["fp32"],
        "num_operators": 0,
        "cases_per_operator": 40,
    },
    "evaluate": {"device": "auto", "policy": "strict", "rounds": 5, "case_timeout_s": 10.0},
    "tolerance": {"float32": 1e-5},
    "generators": {},
}
ORIGINS = {
    "base_dir": "default",
    "selection.suite": "flag:--suite",
    "selection.dtype": "flag:--dtype",
    "selection.num_operators": "default",
    "evaluate.case_timeout_s": "env:KAB_CASE_TIMEOUT_S",
    "tolerance.float32": "file:my settings.toml",
}
INTERPRETER = {"kind": "cpu", "name": "cpu", "interpreter": True}
GPU = {"kind": "cuda", "name": "NVIDIA H200", "interpreter": False}


def selected(op_name: str, n_cases: int, *, kernel: bool = True, skipped: int = 0) -> SelectedOperator:
    """Return a selected operator with numbered cases."""
    return SelectedOperator(
        op_name=op_name,
        kind="value",
        cases=tuple(
            SelectedCase(
                id=f"{op_name[:4]}{number:02d}",
                dtype="float32",
                origin="direct" if number else "derived:sizes",
                held_out=number == 1,
                key=f"{op_name}/{number}" if kernel else None,
            )
            for number in range(n_cases)
        ),
        skipped={"dtype is float16, not float32": skipped} if skipped else {},
    )


def record(
    op_name: str, number: int, device: str, status: CaseStatus = CaseStatus.PASSED, **more: object
) -> CaseRecord:
    """Return a record of a numbered case."""
    fields: dict[str, object] = {
        "max_abs_error": 1.2e-7,
        "max_rel_error": 6.0e-8,
        "nan_count": 0,
        "tolerance": 1e-5,
        "backendbench_passed": True,
        "rounds": 5,
        "launches": 5,
        **more,
    }
    return CaseRecord(
        key=f"{op_name}/{number}",
        op_name=op_name,
        case_id=f"{op_name[:4]}{number:02d}",
        kernel_sha256=f"{sum(map(ord, op_name)):064x}",
        status=status,
        dtype="float32",
        origin="direct" if number else "derived:sizes",
        held_out=number == 1,
        call=f"(T([{number + 3}, 4], f32),)",
        device=device,
        **fields,  # type: ignore[arg-type]
    )


def run_file(device: dict[str, object], selection: tuple[SelectedOperator, ...], **more: object) -> RunFile:
    """Return the run file of a sample; operators whose cases have keys have kernels."""
    fields: dict[str, object] = {
        "finished": "2026-01-02T03:05:06+00:00",
        "state": RunState.FINISHED,
        "command": (
            "kab",
            "evaluate",
            "--suite",
            "opinfo",
            "--dtype",
            "fp32",
            "--config",
            "my settings.toml",
        ),
        **more,
    }
    return RunFile(
        kab_version="0.1.0",
        created="2026-01-02T03:04:05+00:00",
        fingerprint="0" * 64,
        suite_name="opinfo",
        suite_sha256="1" * 64,
        settings=SETTINGS,
        origins=ORIGINS,
        versions={"kab": "0.1.0", "torch": "2.13.0", "triton": None, "python": "3.11.9", "numpy": "2.4.0"},
        device=device,
        containment={
            "secrecy": False,
            "secrecy_reason": "no Landlock",
            "steps": [
                {"step": "namespaces", "state": "applied", "reason": ""},
                {"step": "memory", "state": "applied", "reason": "RLIMIT_AS"},
                {"step": "landlock", "state": "refused", "reason": "not in this kernel"},
            ],
        },
        self_test={"bfloat16 arithmetic": False, "reasons": {}},
        selection=selection,
        kernels={
            item.op_name: KernelFile(path=f"{item.op_name}.py", sha256=f"{sum(map(ord, item.op_name)):064x}")
            for item in selection
            if any(case.key for case in item.cases)
        },
        notes=("one note",),
        **fields,  # type: ignore[arg-type]
    )


def store(name: str, run: RunFile, records: list[CaseRecord]) -> None:
    """Write a sample run folder, without secret and lock: reading needs neither."""
    folder = SAMPLES / name
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "run.json", run.to_text())
    write_text(folder / "results.jsonl", "".join(json.dumps(item.to_json()) + "\n" for item in records))


def mixed() -> None:
    """Every verdict once, on the interpreter, with hostile text and an old record that must not count."""
    names = (
        "abs.default",
        "add.Tensor",
        "div.Tensor",
        "exp.default",
        "log.default",
        "mm.default",
        "neg.default",
    )
    selection = (
        *(selected(name, 3, skipped=2 if name == "abs.default" else 0) for name in names),
        selected("relu.default", 2, kernel=False),
        selected("tanh.default", 0, skipped=4),
    )
    run = run_file(INTERPRETER, selection, warnings=("a warning with | and *stars*",))
    run = RunFile.from_json(
        {
            **run.to_json(),
            "kernels": {**run.to_json()["kernels"], "tanh.default": {"path": "t.py", "sha256": "2" * 64}},
        }
    )
    here = INTERPRETER_LABEL
    nothing: dict[str, object] = dict.fromkeys(
        ("max_abs_error", "max_rel_error", "nan_count", "backendbench_passed", "launches")
    )
    failed = CaseStatus.FAILED
    records = [
        record("abs.default", 0, here),
        record("abs.default", 1, here, strong=False, survivors=("zeros",)),
        record("abs.default", 2, here, CaseStatus.SKIPPED, reason="too_large", **nothing),
        record(
            "add.Tensor",
            0,
            here,
            CaseStatus.CRASHED,
            reason="signal",
            detail="SIGSEGV (11)\n\x1b[31mred\x1b[0m ```",
            **nothing,
        ),
        record("add.Tensor", 1, here),
        record("add.Tensor", 2, here, CaseStatus.NOT_RUN, reason="after_crash", detail="given up", **nothing),
        record(
            "div.Tensor",
            0,
            here,
            failed,
            reason="values",
            detail="=1+1 at [0, 3] | expected 0.5",
            max_abs_error=float("inf"),
            max_rel_error=float("nan"),
            nan_count=7,
            backendbench_passed=False,
        ),
        record("div.Tensor", 1, here, failed, reason="values", detail="at [1, 3]", max_abs_error=0.25),
        record(
            "div.Tensor",
            2,
            here,
            failed,
            reason="shape",
            detail="shape (1,), not (5, 4)",
            **{**nothing, "backendbench_passed": False},
        ),
        record(
            "exp.default", 0, here, CaseStatus.TIMEOUT, reason="case", detail="no answer in 10 s", **nothing
        ),
        record("exp.default", 1, here),
        record("exp.default", 2, here),
        record(
            "log.default",
            0,
            here,
            CaseStatus.REJECTED,
            reason="library_compute",
            detail="called aten.log",
            library_calls=("aten.log.default",),
        ),
        record(
            "log.default", 1, here, CaseStatus.REJECTED, reason="library_compute", detail="called aten.log"
        ),
        record(
            "log.default", 2, here, CaseStatus.REJECTED, reason="library_compute", detail="called aten.log"
        ),
        *(
            record(
                "mm.default",
                n,
                here,
                CaseStatus.NOT_JUDGED,
                reason="interpreter",
                detail="the interpreter lacks bfloat16",
                **nothing,
            )
            for n in range(3)
        ),
        *(record("neg.default", n, here, strong=False, survivors=("zeros",)) for n in range(3)),
    ]
    old = record("abs.default", 9, here, failed, reason="values", detail="of a former kernel")
    store("mixed", run, [old, *records])


def good() -> None:
    """One operator, all that can be judged right, on a GPU, nothing timed."""
    spent = Spending(
        calls=3,
        failed_calls=1,
        tokens_in=12000,
        tokens_out=900,
        tokens_cached=4000,
        cost_usd=0.0315,
        latency_s=20.5,
    )
    run = run_file(GPU, (selected("relu.default", 3),), spending={"relu.default": spent.to_json()})
    here = "NVIDIA H200"
    records = [record("relu.default", number, here) for number in range(2)]
    unjudged = record("relu.default", 2, here, CaseStatus.NOT_JUDGED, reason="vacuous", detail="no element")
    store("good", run, [*records, unjudged])


def timed() -> None:
    """On a GPU: twice as fast, half as fast, launch-bound, impossible, wrong though fast, not timed, and missing."""
    run = run_file(
        GPU,
        (
            selected("relu.default", 3),
            selected("add.Tensor", 1),
            selected("neg.default", 2),
            selected("exp.default", 2),
            selected("mul.Tensor", 1),
            selected("abs.default", 1, kernel=False),
        ),
    )
    here = "NVIDIA H200"
    compiled: dict[str, Any] = {
        "references_s": {EAGER: samples(40e-6, seed=3), "torch-compile": samples(25e-6, seed=4)}
    }
    wrong = {"reason": "values", "detail": "the output: 1 of 12 elements wrong"}
    impossible = {"read_bytes": 64 << 20, "written_bytes": 64 << 20, "must_read_bytes": 64 << 20}
    records = [
        record("relu.default", 0, here, timing=timing(20e-6, 40e-6, seed=1)),
        record("relu.default", 1, here, timing=timing(20e-6, 40e-6, seed=2, **compiled)),
        record("relu.default", 2, here, untimed="too_large: timing needs 9 bytes, 8 can be used"),
        record("add.Tensor", 0, here, timing=timing(80e-6, 40e-6, seed=5)),
        record("neg.default", 0, here, timing=timing(3.1e-6, 3.4e-6, seed=6)),
        record("neg.default", 1, here, timing=timing(50e-6, 50e-6, spread=0.5, seed=7)),
        record("exp.default", 0, here, timing=timing(40e-6, 40e-6, seed=8)),
        record("exp.default", 1, here, timing=timing(1e-12, 50e-6, seed=9, **impossible)),
        record("mul.Tensor", 0, here, CaseStatus.FAILED, timing=timing(1e-6, 100e-6, seed=10), **wrong),
    ]
    store("timed", run, records)


def interrupted() -> None:
    """Stopped before anything was judged."""
    run = run_file(
        INTERPRETER,
        (selected("relu.default", 2), selected("abs.default", 1, kernel=False)),
        state=RunState.RUNNING,
        finished=None,
        command=(),
    )
    store("interrupted", run, [])


if __name__ == "__main__":
    mixed()
    good()
    timed()
    interrupted()
