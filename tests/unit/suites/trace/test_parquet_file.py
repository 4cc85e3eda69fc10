"""Parquet suites in BackendBench's columns: what is read, and that writing is the inverse."""

from __future__ import annotations

from pathlib import Path

import pytest

from kagent_bench.errors import InputError
from kagent_bench.model.case import Source
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import Arguments, Trace, TracedCall, TracedTensor
from kagent_bench.suites.trace.parquet_file import read_parquet, write_parquet

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

VECTOR = TracedTensor((4,), "float16")


def test_rows_and_bad_rows(tmp_path: Path) -> None:
    """Old names, excluded and synthetic rows, optional columns; a bad row loses only itself."""
    path = tmp_path / "suite.parquet"
    rows = [
        {"op_name": "aten.sum.SymInt", "args": "((T([4], f16), [0]), {})", "count": 3, "is_synthetic": False,
         "included_in_benchmark": True, "why_excluded": []},
        {"op_name": "aten.relu.default", "args": "((T([4], f16),), {})", "count": 0, "is_synthetic": True,
         "included_in_benchmark": False, "why_excluded": ["too small", "too fast"]},
        {"op_name": "aten.relu.default", "args": "((T([4], f16)", "count": 1, "is_synthetic": False,
         "included_in_benchmark": True, "why_excluded": []},
    ]  # fmt: skip
    parquet.write_table(pa.Table.from_pylist(rows), path)

    trace = read_parquet(path)

    summed, excluded = trace.calls
    assert ("sum.dim_IntList", 3, ()) == (str(summed.operator), summed.count, summed.excluded)
    assert (0, ("too small", "too fast")) == (excluded.count, excluded.excluded)
    assert [(3, 14)] == [(item.line, item.column) for item in trace.problems]


def test_counts(tmp_path: Path) -> None:
    """A column of floating-point numbers, as pandas makes of one with gaps, has whole numbers and nothing else."""
    path = tmp_path / "suite.parquet"
    rows = [{"op_name": "aten.relu.default", "args": "((T([4], f16),), {})"} | {"count": count} for count in
            (3.0, float("nan"), None, 2.5, -1.0, float("inf"))]  # fmt: skip
    parquet.write_table(pa.Table.from_pylist(rows), path)

    trace = read_parquet(path)

    assert [3, 0, 0] == [call.count for call in trace.calls]
    assert [4, 5, 6] == [item.line for item in trace.problems]


def test_writing_and_reading_back(tmp_path: Path) -> None:
    """Calls come back as they were, with their models and why they are excluded."""
    name = OperatorName.parse("add.Tensor")
    calls = (
        TracedCall(
            operator=name,
            arguments=Arguments((VECTOR, 1.5), (("alpha", 2),)),
            count=3,
            sources=(Source("llama/decode", 3, ("layers.*.mlp",)),),
        ),
        TracedCall(operator=name, arguments=Arguments((VECTOR, VECTOR)), count=0, excluded=("weak",)),
    )
    path = tmp_path / "suite.parquet"

    write_parquet(Trace(calls=calls), path)

    assert calls == read_parquet(path).calls


@pytest.mark.parametrize(("content", "words"), [(b"no table", "cannot read"), (None, "no column 'op_name'")])
def test_files_that_are_no_suite(tmp_path: Path, content: bytes | None, words: str) -> None:
    """Another kind of file, and another table."""
    path = tmp_path / "suite.parquet"
    if content is None:
        parquet.write_table(pa.table({"x": [1]}), path)
    else:
        path.write_bytes(content)

    with pytest.raises(InputError, match=words):
        read_parquet(path)
