"""Composes all module problems of the tests and judges them: ``python tests/benchmarks/fuser.py [FOLDER]``.

Prints a row for each problem: verdict, what stays with the library, coverage, time. FOLDER holds other problem files.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import kagent_bench

PROBLEMS = Path(__file__).parents[1] / "plugins" / "fuser_problems"


def main(arguments: list[str]) -> None:
    """Run generate and evaluate over a folder of problem files."""
    folder = Path(arguments[0]).resolve() if arguments else PROBLEMS
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        made = kagent_bench.generate(suite="kernelbench", suite_file=[str(folder)], workflow="fuser")
        generated = time.monotonic()
        summary = kagent_bench.evaluate(suite="kernelbench", suite_file=[str(folder)])
        why = {item.op_name: f"{item.outcome} {item.reason}" for item in made.operators}
        for item in summary.operators:
            shares = " ".join(f"{name} {share:.0%}" for name, share in item.coverage.items())
            print(f"{item.op_name:60s} {item.verdict} {item.reason:20s} {shares}  [{why[item.op_name]}]")
        correct = sum(item.verdict.value == "correct" for item in summary.operators)
        print(
            f"{correct} of {len(summary.operators)} correct; generate {generated - started:.0f} s, ", end=""
        )
        print(f"evaluate {time.monotonic() - generated:.0f} s")
        os.chdir(Path(__file__).parent)


if __name__ == "__main__":
    main(sys.argv[1:])
