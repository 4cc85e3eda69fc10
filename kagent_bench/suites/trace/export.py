"""Writes selected cases as a trace, for this program and for others: memory that arguments share is not in a trace."""

from __future__ import annotations

import gzip
import lzma
from typing import TYPE_CHECKING

from kagent_bench.errors import InputError, UsageError
from kagent_bench.model.call_text import is_contiguous
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace import parquet_file, text_file
from kagent_bench.suites.trace.call import Arguments, Trace, TracedCall, TracedTensor
from kagent_bench.suites.trace.load import SUFFIXES, merge

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kagent_bench.model.case import Case, Value
    from kagent_bench.model.selection import Selection
    from kagent_bench.suites.trace.call import TracedValue


def export(selection: Selection, path: Path) -> int:
    """Write the kept cases to a new file in the format that its name says; return the number of different calls.

    Raises:
        UsageError: the name says no format, the file exists, or pyarrow is needed and not installed.
        InputError: the file cannot be written.
    """
    header = (("suite", selection.suite), *(("note", text) for text in selection.notes))
    trace = Trace(calls=merge(_calls(selection)), header=header)
    write_trace(trace, path)
    return len(trace.calls)


def write_trace(trace: Trace, path: Path) -> None:
    """Write a new trace file in the format that its name says.

    Raises:
        UsageError: the name says no format, the file exists, or pyarrow is needed and not installed.
        InputError: the file cannot be written.
    """
    refuse_output(path)
    if path.suffix == parquet_file.SUFFIX:
        parquet_file.write_parquet(trace, path)
        return
    data = text_file.trace_text(trace).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    try:
        path.write_bytes(data)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror}"
        raise InputError(message, hint="name a file in a folder that exists") from error


def refuse_output(path: Path) -> None:
    """Refuse a file that cannot be written as a trace.

    Raises:
        UsageError: the name says no format, or the file exists.
    """
    if not path.name.endswith(SUFFIXES):
        message = f"{path} says no format by its name"
        raise UsageError(message, hint=f"traces end in {', '.join(SUFFIXES)}")
    if path.exists():
        message = f"{path} exists"
        raise UsageError(message, hint="name a new file, or delete that one")


def _calls(selection: Selection) -> Iterator[TracedCall]:
    for item in selection.operators:
        for case in item.cases:
            yield traced_call(case)


def traced_call(case: Case) -> TracedCall:
    """Return a case as a line of a trace.

    Raises:
        TypeError: it is no operator's.
    """
    if not isinstance(case.operator, OperatorName):
        message = f"{case.operator} is no operator"
        raise TypeError(message)
    return TracedCall(
        operator=case.operator,
        arguments=Arguments(
            tuple(_value(value, case) for value in case.args),
            tuple((name, _value(value, case)) for name, value in case.kwargs),
        ),
        count=case.count,
        sources=case.sources,
    )


def _value(value: Value, case: Case) -> TracedValue:
    if isinstance(value, TensorSpec):
        stride = None if is_contiguous(value.shape, value.stride) else value.stride
        return TracedTensor(value.shape, case.storages[value.storage].dtype, stride)
    if isinstance(value, tuple):
        return tuple(_value(item, case) for item in value)
    return value
