"""Loads trace files and folders of them: every call once, with what all files together say of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kagent_bench.errors import InputError
from kagent_bench.model.case import Source
from kagent_bench.suites.trace import parquet_file, text_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kagent_bench.model.case import Case
    from kagent_bench.suites.trace.call import Arguments, Problem, Trace, TracedCall

SUFFIXES = (*text_file.SUFFIXES, parquet_file.SUFFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTraces:
    """What some files hold together."""

    calls: tuple[TracedCall, ...]
    """Each once, in the order of operators, then as the files have them."""
    problems: tuple[Problem, ...]
    files: tuple[str, ...]
    n_lines: int
    """Calls that were read, repeated ones too."""
    recorders: tuple[str, ...] = ()
    """With what the files say that they were recorded."""


def load_traces(paths: Iterable[Path]) -> LoadedTraces:
    """Read files, and every trace file below folders. A call of no stated source is of the model that its file names.

    Raises:
        InputError: a path is missing, is no trace by its name, or cannot be read.
        UsageError: a Parquet file, and pyarrow is not installed.
    """
    known: dict[str, tuple[Arguments, str]] = {}
    # A file that is named twice, itself and by its folder, is read once.
    files = tuple({file.resolve(): file for path in paths for file in _files(path)}.values())
    traces = [(file, read_trace(file, known)) for file in files]
    calls = merge(_with_source(call, model_name(file)) for file, trace in traces for call in trace.calls)
    return LoadedTraces(
        calls=calls,
        problems=tuple(problem for _, trace in traces for problem in trace.problems),
        files=tuple(str(file) for file in files),
        n_lines=sum(len(trace.calls) for _, trace in traces),
        recorders=tuple(
            dict.fromkeys(text for _, trace in traces for name, text in trace.header if name == "recorder")
        ),
    )


def read_trace(path: Path, known: dict[str, tuple[Arguments, str]] | None = None) -> Trace:
    """Read one file in the format that its name says.

    Raises:
        InputError: the file cannot be read, or its name says no format.
        UsageError: a Parquet file, and pyarrow is not installed.
    """
    if not path.name.endswith(SUFFIXES):
        message = f"{path} is no trace by its name"
        raise InputError(message, hint=f"traces end in {', '.join(SUFFIXES)}")
    return (parquet_file.read_parquet if path.suffix == parquet_file.SUFFIX else text_file.read_text)(
        path, known
    )


def model_name(path: Path) -> str:
    """Return the model that a file is named after."""
    name = path.name
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def merge(calls: Iterable[TracedCall]) -> tuple[TracedCall, ...]:
    """Return every call once, with its counts and sources added up; excluded only if it is wherever it occurs."""
    found: dict[tuple[object, Arguments], TracedCall] = {}
    for call in calls:
        key = (call.operator, call.arguments)
        other = found.get(key)
        found[key] = call if other is None else _added(other, call)
    return tuple(sorted(found.values(), key=lambda call: call.operator))


def _added(first: TracedCall, second: TracedCall) -> TracedCall:
    return replace(
        first,
        count=first.count + second.count,
        sources=merge_sources((*first.sources, *second.sources)),
        excluded=first.excluded if second.excluded else (),
    )


def merge_sources(sources: Iterable[Source]) -> tuple[Source, ...]:
    """Return every model once, with its counts added up."""
    found: dict[str, Source] = {}
    for source in sources:
        other = found.get(source.model)
        if other is not None:
            modules = tuple(sorted({*other.modules, *source.modules}))
            source = Source(source.model, other.count + source.count, modules)  # noqa: PLW2901 - the sum of both
        found[source.model] = source
    return tuple(sorted(found.values()))


def merge_cases(first: Case, second: Case) -> Case:
    """Return a case that stands for the calls of two that are the same."""
    sources = merge_sources((*first.sources, *second.sources))
    return replace(first, count=first.count + second.count, sources=sources)


def _with_source(call: TracedCall, model: str) -> TracedCall:
    return call if call.sources else replace(call, sources=(Source(model, call.count),))


def _is_trace(path: Path) -> bool:
    """Whether a name below a folder is one of a trace; what is hidden belongs to another program."""
    return path.name.endswith(SUFFIXES) and not any(part.startswith(".") for part in path.parts)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(
            file for file in path.rglob("*") if _is_trace(file.relative_to(path)) and file.is_file()
        )
        if not found:
            message = f"no trace in the folder {path}"
            raise InputError(message, hint=f"traces end in {', '.join(SUFFIXES)}")
        return found
    if not path.exists():
        message = f"no file {path}"
        raise InputError(message, hint="name a trace file, or a folder of them, with --suite-file")
    return [path]
