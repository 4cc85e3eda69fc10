"""Records what FACTO makes up: ``python -m kagent_bench.suites.record_facto FILE``, a throwaway process."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from kagent_bench.model.case import Case

CALLS_PER_OPERATOR = 60
"""Calls that are asked for; FACTO goes through the combinations of its specification, the simple ones first."""
SEED = 1
"""So that two recordings are the same."""


def main(arguments: list[str]) -> None:
    """Write a shard with the cases of every operator that FACTO has a specification of.

    Args:
        arguments: the file.
    """
    import torch
    from facto.specdb.db import SpecDictDB

    from kagent_bench.suites.recording.kinds import operator_kind
    from kagent_bench.suites.shard import write_shard

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    warnings.simplefilter("ignore")
    operators: dict[OperatorName, OperatorCases] = {}
    left_out: dict[OperatorName, Counter[str]] = {}
    for text, spec in SpecDictDB.items():
        name = OperatorName.parse(text)
        live = getattr(getattr(torch.ops.aten, name.base, None), name.overload, None)
        if live is None or name in operators:
            continue
        reasons = left_out.setdefault(name, Counter())
        cases = {case.id: case for case in _cases(live, name, spec, reasons)}
        if cases:
            operators[name] = OperatorCases(
                operator=name, kind=operator_kind(live), cases=tuple(cases.values())
            )
    ordered = (operators[name] for name in sorted(operators))
    write_shard(Path(arguments[0]), ordered, left_out, {"torch": torch.__version__})


def _cases(operator: Any, name: OperatorName, spec: Any, left_out: Counter[str]) -> list[Case]:
    """Return the calls that eager PyTorch takes, with fresh values where it bears them."""
    from facto.inputgen.argtuple.gen import ArgumentTupleGenerator

    from kagent_bench.suites.recording.freshen import freshen, pooled_ranges
    from kagent_bench.suites.recording.specification import Arguments, Unrepresentable, specify

    found: list[Arguments] = []
    try:
        for args, kwargs, _ in itertools.islice(ArgumentTupleGenerator(spec).gen(), CALLS_PER_OPERATOR):
            try:
                found.append(specify(tuple(args), dict(kwargs)))
            except Unrepresentable as reason:
                left_out[str(reason)] += 1
    except Exception as error:  # noqa: BLE001 - a specification that its own program cannot follow ends here
        left_out[f"FACTO raised {type(error).__name__}"] += 1
    ranges = pooled_ranges([(item, "direct") for item in found])
    cases = []
    for arguments in found:
        fresh = freshen(operator, arguments, ranges)
        if fresh is None:
            left_out["eager PyTorch raises"] += 1
            continue
        tensors = (storage.dtype for storage in fresh.storages)
        cases.append(
            make_case(
                name,
                fresh.args,
                fresh.kwargs,
                fresh.storages,
                dtype=next(tensors, "float32"),
                origin="facto",
            )
        )
    return cases


if __name__ == "__main__":
    main(sys.argv[1:])
