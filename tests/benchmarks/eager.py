"""What judging costs: kernels that only call PyTorch, on every operator of a suite, under ``--policy report``.

    python tests/benchmarks/eager.py [--dtype fp32] [--cases-per-operator 40] [--folder DIR]

Prints operators, cases, wall time, time per case, and every operator that is not found correct or not judged: eager
PyTorch judged by itself must never be wrong, so each of those is a fault of the harness.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import kagent_bench
from kagent_bench.config.resolve import argument_layer, resolve
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.model.verdict import FINE
from kagent_bench.pipeline import choose

if TYPE_CHECKING:
    from kagent_bench.api import SettingsArguments

KERNEL = '''"""{name} by PyTorch itself."""

import torch


def {function}(*args, **kwargs):
    return torch.ops.aten.{name}(*args, **kwargs)
'''


def main() -> None:
    """Write the kernels, judge them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--cases-per-operator", type=int, default=40)
    parser.add_argument("--folder", type=Path, default=Path("eager_kernels"))
    chosen = parser.parse_args()
    settings: SettingsArguments = {
        "suite": "opinfo",
        "dtype": (chosen.dtype,),
        "cases_per_operator": chosen.cases_per_operator,
        "base_dir": chosen.folder,
        "policy": "report",
    }
    for item in choose(resolve(argument_layer(settings)), build_catalog()).operators:
        path = chosen.folder / item.operator.folder / f"{item.operator.kernel_stem}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(KERNEL.format(name=item.operator, function=item.operator.kernel_function))
    started = time.monotonic()
    summary = kagent_bench.evaluate(**settings, fresh=True)
    wall_s = time.monotonic() - started
    in_cases_s = sum(record.duration_s for record in summary.cases)
    print(f"operators            {len(summary.operators)}")
    print(f"cases                {len(summary.cases)}")
    print(f"wall time            {wall_s:.1f} s")
    print(
        f"time in cases        {in_cases_s:.1f} s, {1000 * in_cases_s / max(1, len(summary.cases)):.1f} ms a case"
    )
    print(
        "verdicts             "
        + ", ".join(f"{n} {name}" for name, n in summary.scores["verdicts"].items() if n)
    )
    for found in summary.operators:
        if found.verdict not in FINE:
            print(f"  {found.op_name}: {found.verdict.value} ({found.reason}) {found.detail[:300]}")


if __name__ == "__main__":
    main()
