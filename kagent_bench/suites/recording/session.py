"""One recording from start to file: samples, fresh values, derived cases, order."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.cache import TRYING_SUFFIX
from kagent_bench.suites.recording.capture import CallRecorder, Recorded
from kagent_bench.suites.recording.derive import derive
from kagent_bench.suites.recording.diversity import by_gain, features, order_cases
from kagent_bench.suites.recording.freshen import freshen, pooled_ranges
from kagent_bench.suites.recording.kinds import operator_kind
from kagent_bench.suites.recording.samples import run_samples
from kagent_bench.suites.shard import write_shard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kagent_bench.model.case import Case
    from kagent_bench.suites.recording.specification import Arguments

MAX_RECORDED = 48
"""Recorded cases that are tried out and stored for one operator, the most different ones."""


def record(
    dtype: str, path: Path, only: frozenset[str] | None, *, underived: frozenset[str] = frozenset()
) -> None:
    """Record the samples of one dtype into a new shard file.

    Args:
        dtype: torch's name of the sample dtype.
        path: the file; it must not exist.
        only: names of the OpInfos to run; None for all.
        underived: operators that no cases are derived for: eager itself crashed on one.
    """
    torch.set_num_threads(1)
    # Samples are seeded thousands of times; seeding devices that are not there takes 1 ms each.
    torch.manual_seed = torch.default_generator.manual_seed
    # Each iterator of samples walks the stack for the test that it belongs to, half of the time; there is none.
    common_utils.extract_test_fn = core.extract_test_fn = lambda: None  # type: ignore[attr-defined]
    recorder = CallRecorder()
    notes: list[str] = []
    opinfos = [item for item in op_db if only is None or item.name in only]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_samples(opinfos, getattr(torch, dtype), recorder, notes.append)
        operators = list(_operators(recorder, dtype, underived, path.with_suffix(TRYING_SUFFIX)))
    known = {item.operator for item in operators}
    left_out = {
        OperatorName.parse(str(operator)): counts
        for operator, counts in recorder.left_out().items()
        if operator.namespace == "aten"
    }
    absent = {str(name): counts for name, counts in left_out.items() if name not in known}
    facts = {
        "dtype": dtype,
        "torch": torch.__version__,
        "absent": json.dumps(absent, sort_keys=True),
        "notes": "\n".join(notes),
    }
    write_shard(path, operators, left_out, facts)


def _operators(
    recorder: CallRecorder, dtype: str, underived: frozenset[str], trying: Path
) -> Iterator[OperatorCases]:
    for operator, recorded in recorder.recorded():
        name = OperatorName.parse(str(operator))
        cases = _fresh_cases(operator, name, recorded, dtype)
        trying.write_text(str(name))
        derived = [] if str(name) in underived else derive(operator, name, cases, dtype)
        ordered = order_cases(cases, derived)
        if ordered:
            yield OperatorCases(operator=name, kind=operator_kind(operator), cases=tuple(ordered))


def _fresh_cases(operator: Any, name: OperatorName, recorded: list[Recorded], dtype: str) -> list[Case]:
    """Return the most different recorded calls as cases, each once, with fresh values where possible."""
    recorded = [recorded[index] for index in of_dtype([item.arguments for item in recorded], dtype)]
    ranges = pooled_ranges([(item.arguments, item.origin) for item in recorded])
    cases: dict[str, Case] = {}
    for index in by_gain([features(item.arguments, item.origin) for item in recorded])[:MAX_RECORDED]:
        item = recorded[index]
        fresh = freshen(operator, item.arguments, ranges)
        if fresh is not None:
            item.arguments = fresh
            made = _case(name, item, dtype)
            cases.setdefault(made.id, made)
    return list(cases.values())


def of_dtype(calls: Sequence[Arguments], dtype: str) -> list[int]:
    """Return the indices of the calls that are about a dtype: all, if no call is.

    Operators that work in another precision inside call others with it, and Fourier transforms with complex
    numbers, which Triton does not have: such calls would ask a kernel for what its user did not.
    """
    chosen = []
    for index, arguments in enumerate(calls):
        dtypes = {storage.dtype for storage in arguments.storages}
        complex_ones = any(name.startswith("complex") for name in dtypes)
        if not dtypes or (dtype in dtypes and not complex_ones):
            chosen.append(index)
    return chosen if any(calls[index].storages for index in chosen) else list(range(len(calls)))


def _case(name: OperatorName, item: Recorded, dtype: str) -> Case:
    arguments = item.arguments
    return make_case(
        name,
        arguments.args,
        arguments.kwargs,
        arguments.storages,
        dtype=dtype,
        origin=item.origin,
        count=item.count,
    )
