"""What judging costs: kernels that only call PyTorch, on the operators of a suite, under ``--policy report``.

    python tests/benchmarks/eager.py [--dtype fp32] [--cases-per-operator 0] [--origins direct,inplace] [--every 1]

Prints operators, cases, wall time, processor time and how it is shared between isolation (processes, transport,
containment), references (eager and float64, inputs) and comparison (controls included), and every operator that is not
found correct or not judged: eager PyTorch judged by itself must never be wrong, so each of those is a fault of the
harness. The limit is 90 s for PyTorch's own fp32 samples (the default) on two cores without a GPU, all rounds.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.config.resolve import argument_layer, resolve
from kagent_bench.evaluate.processes import Oracle
from kagent_bench.evaluate.run import evaluate_selection
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.model.progress import Silent
from kagent_bench.model.verdict import FINE
from kagent_bench.pipeline import choose
from kagent_bench.report.summarise import summarise

if TYPE_CHECKING:
    from kagent_bench.api import SettingsArguments
    from kagent_bench.model.selection import Selection

KERNEL = '''"""{name} by PyTorch itself."""

import torch


def {function}(*args, **kwargs):
    return torch.ops.aten.{name}(*args, **kwargs)
'''
LIMIT_S = 90.0


def _cpu_s() -> float:
    """Return the processor time of this process and of all that it waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _chosen(selection: Selection, origins: frozenset[str], every: int) -> Selection:
    """Return the operators that are judged by value, with their cases of the given origins, every so many of them."""
    found = []
    for item in selection.operators:
        cases = tuple(case for case in item.cases if case.origin.partition(":")[0] in origins)
        if item.kind == "value" and cases:
            found.append(replace(item, cases=cases))
    return replace(selection, operators=tuple(found[::every]))


def main() -> None:
    """Write the kernels, judge them, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--cases-per-operator", type=int, default=0)
    parser.add_argument("--origins", default="direct,inplace")
    parser.add_argument("--every", type=int, default=1)
    asked = parser.parse_args()
    spent: Counter[str] = Counter()
    stop = Oracle.stop

    def stop_and_tell(oracle: Oracle) -> None:
        spent.update(oracle.request({"do": "spent"})[0])
        stop(oracle)

    Oracle.stop = stop_and_tell  # type: ignore[method-assign, assignment]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings: SettingsArguments = {
            "suite": "opinfo",
            "dtype": (asked.dtype,),
            "cases_per_operator": asked.cases_per_operator,
            "base_dir": folder / "kernels",
            "run_dir": folder / "run",
            "policy": "report",
        }
        resolved, catalog = resolve(argument_layer(settings)), build_catalog()
        selection = _chosen(choose(resolved, catalog), frozenset(asked.origins.split(",")), asked.every)
        for item in selection.operators:
            path = folder / "kernels" / item.operator.folder / f"{item.operator.kernel_stem}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(KERNEL.format(name=item.operator, function=item.operator.kernel_function))
        started, before_s = time.monotonic(), _cpu_s()
        summary = summarise(evaluate_selection(selection, resolved, catalog, Silent()))
        wall_s, cpu_s = time.monotonic() - started, _cpu_s() - before_s
    n_cases = max(1, len(summary.cases))
    rounds = sum(record.rounds for record in summary.cases)
    print(f"operators            {len(summary.operators)}")
    print(f"cases, rounds        {len(summary.cases)}, {rounds}")
    print(
        f"wall time            {wall_s:.1f} s, {1000 * wall_s / n_cases:.1f} ms a case (limit {LIMIT_S:g} s)"
    )
    print(f"processor time       {cpu_s:.1f} s, {1000 * cpu_s / n_cases:.1f} ms a case")
    for what, time_s in (*spent.items(), ("isolation", cpu_s - spent.total())):
        print(f"  {what:<18} {time_s:.1f} s, {100 * time_s / cpu_s:.0f} %")
    verdicts = summary.scores["verdicts"].items()
    print(
        "verdicts             " + ", ".join(f"{number} {verdict}" for verdict, number in verdicts if number)
    )
    for found in summary.operators:
        if found.verdict not in FINE:
            print(f"  {found.op_name}: {found.verdict.value} ({found.reason}) {found.detail[:300]}")


if __name__ == "__main__":
    main()
