"""Trace files as text: ``Operator: aten.add.Tensor`` and below it ``cnt: 12, ((T([4], f16), 1), {})`` for each call.

This is the format of tritonbench and BackendBench. Two comments are ours, and are none of their readers' business:
``# name: text`` lines before the first operator say where a file comes from, and ``# from MODEL=COUNT@MODULE`` after a
call says who made it. Names in it have their blanks and separators percent-encoded.
"""

from __future__ import annotations

import gzip
import lzma
import re
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import quote, unquote

from kagent_bench.errors import InputError
from kagent_bench.model.case import Source
from kagent_bench.suites.trace.aliases import adapt, resolve
from kagent_bench.suites.trace.call import Arguments, Problem, Trace, TracedCall
from kagent_bench.suites.trace.grammar import parse_arguments
from kagent_bench.suites.trace.notation import arguments_text
from kagent_bench.suites.trace.words import GrammarError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kagent_bench.model.names import OperatorName

MAX_LINE_BYTES = 1 << 18
"""Longest line that is read: fifty times the longest known one, and little enough to be taken apart safely."""
SHOWN_BYTES = 64
"""What is looked at of a longer one."""
MAX_COUNT_DIGITS = 15
"""Digits of a count: a model that calls an operator more often than that is none."""
SUFFIXES = (".txt", ".txt.gz", ".txt.xz")
"""Names of files that are read as text."""

_OPERATOR = re.compile(r"\s*operator\s*:?\s*", re.IGNORECASE)
"""What begins the line of an operator, however it is written: the calls below it must not go to the one before."""
_CALL = re.compile(r"\s*cnt\s*:?\s*([^,(\s]*)\s*(,?)\s*", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]+")
_HEADER = re.compile(r"#[ \t]*([A-Za-z_][\w-]*)[ \t]*:[ \t]*(.*)")
_SAFE = "/.*-_+:"
"""Letters of a name in a comment that stand for themselves."""


def read_text(path: Path, known: dict[str, tuple[Arguments, str]] | None = None) -> Trace:
    """Read a trace file, a compressed one too. A line that cannot be read loses only itself.

    Args:
        path: the file.
        known: texts that were parsed before, with what came out; grows. Models share most of their calls.

    Raises:
        InputError: the file cannot be opened or unpacked.
    """
    try:
        with _open(path) as stream:
            return _Reader(str(path), {} if known is None else known).read(stream)
    except (OSError, EOFError, lzma.LZMAError) as error:
        message = f"cannot read the trace {path}: {error}"
        raise InputError(
            message, hint="name a .txt file (also .gz, .xz), a .parquet file, or a folder of them"
        ) from error


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


class _Reader:
    """Reads the lines of one file."""

    def __init__(self, name: str, known: dict[str, tuple[Arguments, str]]) -> None:
        self._name = name
        self._number = 0
        self._operator: OperatorName | None = None
        self._spelling = ""
        self._lost = 0
        """Line of an operator that could not be read, to which the following calls belong."""
        self._calls: list[TracedCall] = []
        self._problems: list[Problem] = []
        self._header: list[tuple[str, str]] = []
        self._known = known

    def read(self, stream: IO[bytes]) -> Trace:
        for line, whole in _lines(stream):
            self._number += 1
            if not whole:
                self._unreadable(line, 1, f"a line of more than {MAX_LINE_BYTES} bytes")
                continue
            try:
                # An editor may have put a byte order mark before the first line.
                text = line.decode("utf-8-sig" if self._number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                self._unreadable(line, error.start + 1, "no UTF-8 text")
            else:
                self._line(text.rstrip("\r\n"))
        return Trace(calls=tuple(self._calls), problems=tuple(self._problems), header=tuple(self._header))

    def _line(self, text: str) -> None:
        if found := _OPERATOR.match(text):
            self._begin(text[found.end() :].partition("#")[0].rstrip(), found.end() + 1)
        elif found := _CALL.match(text):
            self._call(text, found)
        elif text.startswith("#"):
            header = _HEADER.fullmatch(text)
            if header and not self._calls:
                self._header.append((header[1], header[2]))
        elif text.strip():
            self._complain(1, "a line begins with 'Operator:' or 'cnt:'")

    def _unreadable(self, line: bytes, column: int, message: str) -> None:
        if _OPERATOR.match(line.decode("latin-1")):
            self._operator, self._lost = None, self._number
        self._complain(column, message)

    def _begin(self, text: str, column: int) -> None:
        self._operator, self._lost, self._spelling = None, self._number, text
        try:
            self._operator = resolve(text)
        except ValueError:
            self._complain(column, f"not an ATen operator: {text[:60]!a}")

    def _call(self, text: str, found: re.Match[str]) -> None:
        if self._operator is None:
            why = (
                f"its operator in line {self._lost} could not be read"
                if self._lost
                else "no operator before it"
            )
            self._complain(1, f"a call that belongs to nothing: {why}")
            return
        if not _COUNT.fullmatch(found[1]):
            self._complain(found.start(1) + 1, f"a count is a whole number from 0, not {found[1][:40]!a}")
            return
        if len(found[1]) > MAX_COUNT_DIGITS:
            self._complain(found.start(1) + 1, f"a count of {len(found[1])} digits")
            return
        if not found[2]:
            self._complain(found.end(1) + 1, "expected ',' after the count")
            return
        body = text[found.end() :]
        try:
            arguments, comment = self._known.get(body) or self._known.setdefault(body, parse_arguments(body))
            sources = parse_sources(comment)
        except GrammarError as error:
            self._complain(found.end() + error.column, str(error))
            return
        arguments = adapt(self._spelling, arguments)
        self._calls.append(
            TracedCall(operator=self._operator, arguments=arguments, count=int(found[1]), sources=sources)
        )

    def _complain(self, column: int, message: str) -> None:
        self._problems.append(Problem(file=self._name, line=self._number, column=column, message=message))


def _lines(stream: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield the lines, and whether each is whole: of one that is too long only the first piece is held."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        whole = len(line) <= MAX_LINE_BYTES or line.endswith(b"\n")
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES)
        yield (line, True) if whole else (line[:SHOWN_BYTES], False)


# --- who made a call ----------------------------------------------------------------------------------------


def parse_sources(comment: str) -> tuple[Source, ...]:
    """Read ``from MODEL=COUNT@MODULE|MODULE MODEL=COUNT``; any other comment says nothing."""
    words = comment.split()
    if words[:1] != ["from"]:
        return ()
    found = []
    for word in words[1:]:
        head, _, modules = word.partition("@")
        model, separator, count = head.rpartition("=")
        if not separator or not count.isdecimal() or len(count) > MAX_COUNT_DIGITS:
            return ()
        names = tuple(sorted(unquote(name) for name in modules.split("|") if name))
        found.append(Source(unquote(model), int(count), names))
    return tuple(sorted(found))


def sources_text(sources: Iterable[Source]) -> str:
    """Return the words that ``parse_sources`` reads."""
    words = ["from"]
    for source in sources:
        modules = "|".join(quote(name, _SAFE) for name in source.modules)
        words.append(f"{quote(source.model, _SAFE)}={source.count}" + (f"@{modules}" if modules else ""))
    return " ".join(words)


# --- writing ------------------------------------------------------------------------------------------------


def trace_text(trace: Trace) -> str:
    """Return the text of a trace file; calls of one operator stand together, in their order."""
    lines = [f"# {name}: {text}" for name, text in trace.header]
    by_operator: dict[OperatorName, list[TracedCall]] = {}
    for call in trace.calls:
        by_operator.setdefault(call.operator, []).append(call)
    for operator, calls in sorted(by_operator.items()):
        lines.append(f"Operator: aten.{operator}")
        for call in calls:
            comment = f"  # {sources_text(call.sources)}" if call.sources else ""
            lines.append(f"cnt: {call.count}, {arguments_text(call.arguments)}{comment}")
    return "\n".join(lines) + "\n"
