"""Trace files as Parquet, in the columns of BackendBench; needs ``pyarrow``, which is imported when it is used."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import InputError, UsageError
from kagent_bench.suites.trace.aliases import adapt, resolve
from kagent_bench.suites.trace.call import Problem, Trace, TracedCall
from kagent_bench.suites.trace.grammar import parse_arguments
from kagent_bench.suites.trace.notation import arguments_text
from kagent_bench.suites.trace.text_file import MAX_LINE_BYTES, parse_sources, sources_text
from kagent_bench.suites.trace.words import GrammarError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kagent_bench.suites.trace.call import Arguments

SUFFIX = ".parquet"
NEEDED = ("op_name", "args")
"""Columns without which a file is no suite; all others have a default."""
OPTIONAL = ("count", "is_synthetic", "included_in_benchmark", "why_excluded", "in_models")
"""Further columns that are read; times of other machines are not."""


def read_parquet(path: Path, known: dict[str, tuple[Arguments, str]] | None = None) -> Trace:
    """Read a Parquet suite. A row that cannot be read loses only itself.

    Args:
        path: the file.
        known: texts that were parsed before, with what came out; grows.

    Raises:
        InputError: the file cannot be opened, or lacks a column.
        UsageError: pyarrow is not installed.
    """
    parquet = _pyarrow(path)
    try:
        table = parquet.ParquetFile(path)
        names = set(table.schema_arrow.names)
        missing = [name for name in NEEDED if name not in names]
        if missing:
            message = f"{path} is no suite: it has no column {missing[0]!r}"
            raise InputError(message, hint=f"BackendBench's columns are {', '.join((*NEEDED, *OPTIONAL))}")
        columns = [name for name in (*NEEDED, *OPTIONAL) if name in names]
        rows = table.read(columns=columns).to_pylist()
    except (OSError, ValueError) as error:  # pyarrow's errors derive from these
        message = f"cannot read {path}: {str(error).splitlines()[0]}"
        raise InputError(message, hint="name a Parquet file of BackendBench, or a .txt trace") from error
    calls, problems = [], []
    parsed = {} if known is None else known
    for number, row in enumerate(rows, start=1):
        try:
            calls.append(_call(row, parsed))
        except GrammarError as error:
            problems.append(Problem(file=str(path), line=number, column=error.column, message=str(error)))
    return Trace(calls=tuple(calls), problems=tuple(problems))


def _call(row: Mapping[str, Any], known: dict[str, tuple[Arguments, str]]) -> TracedCall:
    name, text = row["op_name"], row["args"]
    if not isinstance(name, str) or not isinstance(text, str) or len(text) > MAX_LINE_BYTES:
        raise GrammarError("op_name and args are texts, and no endless ones", 1)
    try:
        operator = resolve(name)
    except ValueError:
        raise GrammarError(f"not an ATen operator: {name[:60]!a}", 1) from None
    arguments, comment = known.get(text) or known.setdefault(text, parse_arguments(text))
    count = _count(row)
    excluded = row.get("why_excluded")
    reasons = tuple(str(reason) for reason in excluded) if isinstance(excluded, list) else ()
    if row.get("included_in_benchmark") is False and not reasons:
        reasons = ("not included",)
    return TracedCall(
        operator=operator,
        arguments=adapt(name, arguments),
        count=count,
        sources=parse_sources(str(row.get("in_models") or comment)),
        excluded=reasons if row.get("included_in_benchmark") is not True else (),
    )


def _count(row: Mapping[str, Any]) -> int:
    """Return how often a call was made: not at all where it was made up, or the file does not say."""
    count = row.get("count")
    if count is None or row.get("is_synthetic") is True or (isinstance(count, float) and math.isnan(count)):
        return 0
    if not isinstance(count, int | float) or count < 0 or not float(count).is_integer():
        message = f"a count is a whole number from 0, not {str(count)[:40]!a}"
        raise GrammarError(message, 1)
    return int(count)


def write_parquet(trace: Trace, path: Path) -> None:
    """Write a suite in BackendBench's columns; ``in_models`` says who made the calls, in the words of our comments.

    Raises:
        InputError: the file cannot be written.
        UsageError: pyarrow is not installed.
    """
    parquet = _pyarrow(path)
    import pyarrow as pa

    schema = pa.schema(
        [
            ("uuid", pa.string()),
            ("op_name", pa.string()),
            ("args", pa.string()),
            ("count", pa.int64()),
            ("is_synthetic", pa.bool_()),
            ("included_in_benchmark", pa.bool_()),
            ("why_excluded", pa.list_(pa.string())),
            ("runtime_ms", pa.float64()),
            ("relative_runtime_to_kernel_launch", pa.float64()),
            ("runnable", pa.bool_()),
            ("is_overhead_dominated_op", pa.bool_()),
            ("in_models", pa.string()),
        ]
    )
    table = pa.Table.from_pylist([_row(call) for call in trace.calls], schema=schema)
    try:
        parquet.write_table(table.replace_schema_metadata(dict(trace.header) or None), path)
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise InputError(message, hint="name a file in a folder that exists") from error


def _row(call: TracedCall) -> dict[str, Any]:
    name, text = f"aten.{call.operator}", arguments_text(call.arguments)
    return {
        "uuid": hashlib.sha256(text.encode() + name.encode()).hexdigest(),
        "op_name": name,
        "args": text,
        "count": call.count,
        "is_synthetic": call.count == 0,
        "included_in_benchmark": not call.excluded,
        "why_excluded": list(call.excluded),
        "runtime_ms": float("nan"),
        "relative_runtime_to_kernel_launch": float("nan"),
        "runnable": True,
        "is_overhead_dominated_op": False,
        "in_models": sources_text(call.sources) if call.sources else "",
    }


def _pyarrow(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        message = f"{path} is a Parquet file, and pyarrow is not installed"
        raise UsageError(message, hint="install it: pip install 'kagent-bench[traces]'") from error
    return pyarrow.parquet
