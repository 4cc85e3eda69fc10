"""What a folder of traces is worth here: how fast it is read, whether it survives writing, and how many cases run.

    python tests/benchmarks/traces.py FOLDER [--sample 0] [--no-check] [--every-file] [--verbose]

Prints seconds and memory of reading, whether writing and reading back gives the same calls in both formats, and for
each folder below (each file with ``--every-file``) the lines, the different calls, the cases that eager PyTorch takes
as they are, smaller, or in float32 where it has no kernel for their precisions, and below it every reason for which a
call is no case or a case does not run as it is. The limits are 3 s and 300 MB for reading the 109 public traces of
PyTorch, and 99.5 % of their cases that run or have a reason.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.cli.progress import make_progress
from kagent_bench.config.schema import SelectionSettings
from kagent_bench.evaluate.case_check.check import Mark, check_selection
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.selection import Selection
from kagent_bench.suites.narrowing import sampled
from kagent_bench.suites.trace.call import Trace
from kagent_bench.suites.trace.export import write_trace
from kagent_bench.suites.trace.load import SUFFIXES, LoadedTraces, load_traces
from kagent_bench.suites.trace.suite import TraceSuite

if TYPE_CHECKING:
    from kagent_bench.evaluate.case_check.check import CaseCheck
    from kagent_bench.model.case import Case

LIMIT_S = 3.0
LIMIT_MB = 300.0


def _read(folder: Path) -> LoadedTraces:
    start = time.perf_counter()
    loaded = load_traces([folder])
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(loaded.files)} files, {loaded.n_lines} calls, {len(loaded.calls)} different, "
        f"{len(loaded.problems)} lines that cannot be read: {seconds:.2f} s (limit {LIMIT_S:g}), "
        f"{megabytes:.0f} MB (limit {LIMIT_MB:g})"
    )
    for problem in loaded.problems:
        print(f"  {problem}")
    return loaded


def _write_and_read(loaded: LoadedTraces) -> None:
    for suffix in (".txt", ".parquet"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"all{suffix}"
            write_trace(Trace(calls=loaded.calls), path)
            same = loaded.calls == load_traces([path]).calls
        print(f"written as {suffix} and read back: {'the same' if same else 'NOT the same'}")


def _check(loaded: LoadedTraces, sample: int, *, every_file: bool, verbose: bool) -> None:
    suite = TraceSuite(lambda: loaded, "")
    operators = tuple(suite.operators(SuiteRequest()))
    if sample:
        operators = sampled(operators, SelectionSettings(sample=sample))
    start = time.perf_counter()
    selection = Selection(suite="trace", suite_sha256="", operators=operators)
    checks = check_selection(selection, make_progress(verbose=verbose, quiet=not verbose))
    print(f"{len(checks)} cases tried in {time.perf_counter() - start:.0f} s")
    groups: dict[str, list[tuple[Case, CaseCheck]]] = defaultdict(list)
    folders = _folders(loaded, every_file=every_file)
    for item in operators:
        for case in item.cases:
            check = checks[str(item.operator), case.id]
            for group in {folders[source.model] for source in case.sources} | {"all"}:
                groups[group].append((case, check))
    print(
        f"{'':40} {'cases':>6} {'full':>6} {'smaller':>8} {'float32':>8} {'do not run':>10} {'untried':>8} {'run':>8}"
    )
    for name in sorted(groups):
        tried = Counter(check.tried for _, check in groups[name])
        marks = Counter(mark for _, check in groups[name] for mark in check.marks)
        n_cases = len(groups[name])
        share = (n_cases - tried["no"]) / n_cases
        print(
            f"{name[-40:]:40} {n_cases:6} {tried['full']:6} {tried['reduced']:8} {tried['widened']:8} {marks[Mark.UNRUNNABLE]:10} "
            f"{marks[Mark.UNTRIED]:8} {share:8.2%}"
        )
    for note in suite.data_notes():
        print(note)
    reasons = Counter(
        (str(case.operator), check.detail)
        for case, check in groups["all"]
        if check.tried in {"no", "widened"}
    )
    for (operator, reason), count in reasons.most_common():
        print(f"{count:6} {operator}: {reason}")


def _folders(loaded: LoadedTraces, *, every_file: bool) -> dict[str, str]:
    """Return the group of each model: the folder of the first file that is named after it, or that file."""
    found: dict[str, str] = {}
    for name in loaded.files:
        path = Path(name)
        model = path.name
        for suffix in SUFFIXES:
            model = model.removesuffix(suffix)
        found.setdefault(model, f"{path.parent.name}/{model}" if every_file else path.parent.name)
    return found


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sample", type=int, default=0, help="so many cases of all; 0 for every one")
    parser.add_argument("--no-check", action="store_true", help="only read and write")
    parser.add_argument("--every-file", action="store_true", help="a row for each file")
    parser.add_argument("--verbose", action="store_true", help="a line for each case, on standard error")
    given = parser.parse_args()
    loaded = _read(given.folder)
    _write_and_read(loaded)
    if not given.no_check:
        _check(loaded, given.sample, every_file=given.every_file, verbose=given.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
