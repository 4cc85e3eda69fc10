"""Trace files as text: every line is a call or a named problem, and writing is the inverse of reading."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from kagent_bench.errors import InputError
from kagent_bench.model.case import Source
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import Arguments, Trace, TracedCall, TracedTensor
from kagent_bench.suites.trace.load import load_traces
from kagent_bench.suites.trace.text_file import MAX_LINE_BYTES, read_text, trace_text

ADD = OperatorName.parse("add.Tensor")
VECTOR = TracedTensor((4,), "float16")


def _file(folder: Path, *lines: str, name: str = "model.txt") -> Path:
    path = folder / name
    path.write_bytes("\n".join(lines).encode() + b"\n")
    return path


def test_calls_counts_and_who_made_them(tmp_path: Path) -> None:
    """Operators, counts, old names, our comments, and what the file says of itself."""
    path = _file(
        tmp_path,
        "# revision: 7",
        "Operator: aten.add.Tensor",
        "cnt: 12, ((T([4], f16), T([4], f16)), {})  # from a/decode=5@layers.*.mlp|head b%20c=7",
        "Operator: aten.sum.SymInt",
        "cnt: 0, ((T([4], f16), [0]), {})",
    )

    trace = read_text(path)

    assert () == trace.problems
    assert (("revision", "7"),) == trace.header
    added, summed = trace.calls
    assert (ADD, 12, Arguments((VECTOR, VECTOR))) == (added.operator, added.count, added.arguments)
    assert (Source("a/decode", 5, ("head", "layers.*.mlp")), Source("b c", 7)) == added.sources
    assert ("sum.dim_IntList", 0) == (str(summed.operator), summed.count)


def test_a_bad_line_loses_only_itself(tmp_path: Path) -> None:
    """Each problem has its line and its column, and what is around it is read."""
    path = _file(
        tmp_path,
        "cnt: 1, ((1,), {})",
        "Operator: aten.add.Tensor",
        "cnt: 1, ((T([4], f16), T([4], f17)), {})",
        "cnt: 2, ((T([4], f16), 1), {})",
        "hello",
        "Operator: torchvision.nms.default",
        "cnt: 3, ((1,), {})",
        "Operator: aten.add.Tensor",
        "cnt: 4, ((T([4], f16), 2), {})",
    )

    trace = read_text(path)

    assert [2, 4] == [call.count for call in trace.calls]
    assert [(1, 1), (3, 24), (5, 1), (6, 11), (7, 1)] == [(item.line, item.column) for item in trace.problems]
    assert str(trace.problems[1]) == f"{path}:3:24: unknown dtype 'f17'"


@pytest.mark.parametrize(
    "line",
    [
        "  Operator: aten.mul.Tensor",
        "operator : aten.mul.Tensor",
        "Operator aten::mul.Tensor  # a comment",
        "\tOPERATOR:\ttorch.ops.aten.mul.Tensor  ",
    ],
)
def test_however_an_operator_is_written(tmp_path: Path, line: str) -> None:
    """The calls below it are its own, and never of the operator before it."""
    call = "  Cnt : 3 ,((T([4],f16), 1),{})  "

    trace = read_text(_file(tmp_path, "Operator: aten.add.Tensor", line, call))

    assert () == trace.problems
    assert [("mul.Tensor", 3)] == [(str(item.operator), item.count) for item in trace.calls]


@pytest.mark.parametrize(
    "line", [b"Operator: aten.\xff", b"operator: " + b"x" * 300_000, b"Operator: torchvision::nms.default"]
)
def test_calls_of_an_operator_that_cannot_be_read(tmp_path: Path, line: bytes) -> None:
    """They are problems, and no calls of the operator before."""
    path = tmp_path / "model.txt"
    path.write_bytes(b"Operator: aten.add.Tensor\n" + line + b"\ncnt: 3, ((T([4], f16), 1), {})\n")

    trace = read_text(path)

    assert () == trace.calls
    assert "its operator in line 2" in trace.problems[1].message


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("cnt: -1, ((1,), {})", 6, "a whole number from 0, not '-1'"),
        ("cnt: 1.0, ((1,), {})", 6, "not '1.0'"),
        ("cnt: , ((1,), {})", 6, "not ''"),
        ("cnt: \uff15, ((1,), {})", 6, "a whole number"),
        ("cnt: 1 ((1,), {})", 7, "expected ','"),
        ("cnt: 99999999999999999999, ((1,), {})", 6, "20 digits"),
        ("((1,), {})", 1, "begins with"),
    ],
)
def test_counts_that_are_none(tmp_path: Path, text: str, column: int, words: str) -> None:
    """A count that is missing, negative, no whole number, or too large is said to be that."""
    (problem,) = read_text(_file(tmp_path, "Operator: aten.add.Tensor", text)).problems

    assert (2, column) == (problem.line, problem.column)
    assert words in problem.message


def test_what_other_editors_write(tmp_path: Path) -> None:
    """A byte order mark and the ends of lines of Windows are no part of the text."""
    path = tmp_path / "model.txt"
    path.write_bytes(b"\xef\xbb\xbfOperator: aten.add.Tensor\r\ncnt: 3, ((T([4], f16), 1), {})\r\n")

    trace = read_text(path)

    assert () == trace.problems
    assert [3] == [call.count for call in trace.calls]


def test_endless_and_unreadable_lines(tmp_path: Path) -> None:
    """Ten megabytes without an end, bytes that are no text, and NUL end in problems, at once."""
    path = tmp_path / "model.txt"
    good = b"cnt: 1, ((1,), {})\n"
    path.write_bytes(
        b"Operator: aten.add.Tensor\n" + b"cnt: 1, ((" + b"[" * 10_000_000 + b"\n" + good
        + b"cnt: 1, ((\xff,), {})\n" + b"cnt: 1, ((\0,), {})\n" + b"cnt: 1, ((" + b"'\\" * 100_000 + b"\n" + good
    )  # fmt: skip
    start = time.process_time()

    trace = read_text(path)

    assert 2.0 > time.process_time() - start
    assert 2 == len(trace.calls)
    assert [2, 4, 5, 6] == [item.line for item in trace.problems]
    assert f"more than {MAX_LINE_BYTES} bytes" in trace.problems[0].message
    assert "no UTF-8" in trace.problems[1].message


def test_writing_and_reading_back(tmp_path: Path) -> None:
    """A written trace is read as what it was, compressed as well."""
    call = TracedCall(
        operator=ADD,
        arguments=Arguments((VECTOR, 1.5), (("alpha", 2),)),
        count=3,
        sources=(Source("odd =@| name/train", 3, ("a b", "layers.*.x")),),
    )
    trace = Trace(calls=(call,), header=(("data", "made here"),))
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(trace_text(trace).encode()))

    assert trace == read_text(_file(tmp_path, trace_text(trace)))
    assert trace == read_text(packed)


def test_folders_are_read_as_one(tmp_path: Path) -> None:
    """Calls that several files have are one, with counts added up, by the models that the files are named after."""
    lines = ("Operator: aten.add.Tensor", "cnt: 2, ((T([4], f16), 1), {})")
    _file(tmp_path, *lines, name="first.txt")
    _file(tmp_path, *lines, *lines, name="second.txt")
    (tmp_path / "README.md").write_text("no trace")
    (tmp_path / "._first.txt").write_bytes(b"\0hidden by another system")

    loaded = load_traces([tmp_path, tmp_path / "first.txt"])

    (call,) = loaded.calls
    assert (6, 3) == (call.count, loaded.n_lines)
    assert (Source("first", 2), Source("second", 4)) == call.sources


@pytest.mark.parametrize(
    ("name", "words"),
    [("none.txt", "no file"), ("model.csv", "no trace by its name"), ("empty", "no trace in the folder")],
)
def test_paths_that_are_no_traces(tmp_path: Path, name: str, words: str) -> None:
    """A missing file, another kind of file and a folder without traces are refused."""
    (tmp_path / "model.csv").write_text("")
    (tmp_path / "empty").mkdir()

    with pytest.raises(InputError, match=words):
        load_traces([tmp_path / name])


def test_a_damaged_archive(tmp_path: Path) -> None:
    """What cannot be unpacked is an error of the input."""
    (tmp_path / "model.txt.gz").write_bytes(b"not packed")

    with pytest.raises(InputError, match="cannot read the trace"):
        load_traces([tmp_path / "model.txt.gz"])
