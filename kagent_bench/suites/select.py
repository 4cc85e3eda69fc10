"""The selection: which operators and cases of a suite a command is about, and what is skipped and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kagent_bench.config.schema import SelectionSettings
from kagent_bench.errors import PluginError, UnknownName, UsageError
from kagent_bench.hooks.protocols import ReadsFiles, SuiteRequest, TellsItsData, TellsUnreadLines
from kagent_bench.model.names import ModuleName, OperatorName
from kagent_bench.model.selection import OperatorCases, Selection, SkippedCase
from kagent_bench.suites.narrowing import largest, limited, narrow, sampled
from kagent_bench.suites.retype import retyped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from kagent_bench.hooks.catalog import Catalog
    from kagent_bench.hooks.protocols import DtypeFilter, Suite
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import ProblemName

TORCHBENCH = "torchbench"
"""Name of the suite that a trace file stands in for."""
FILE_SUITE = "trace"
"""What a suite made of files is called in results."""
MOST_REASONS = 5
"""Reasons that are told of operators that are left out, the most frequent ones."""
_OPERATOR = "operator"
"""The kind of name, in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedFilter:
    name: str
    filter: DtypeFilter


def select(
    catalog: Catalog,
    settings: SelectionSettings,
    *,
    only: frozenset[ProblemName] | None = None,
    note: Callable[[str], None] | None = None,
) -> Selection:
    """Select operators and cases.

    Cases are re-typed first, then filtered by dtype, model, count, size and part, then counted: the largest, the
    first of each operator and dtype, a sample of all. A case is kept if any chosen dtype filter keeps it; a skipped
    case carries the joined reasons. Operators that were named with ``ops`` stay even if all their cases are
    skipped; without ``ops``, operators that have no case left are left out, and a note counts their cases by reason.

    Args:
        catalog: where suites and dtype filters are found.
        settings: what the user chose.
        only: leave out all other operators.
        note: told what takes long.

    Raises:
        UnknownName: no such suite, dtype filter or operator.
        PluginError: a filter skipped a case without a reason.
        UsageError: nothing is left.
    """
    suite = _suite(catalog, settings)
    filters = [
        _NamedFilter(name=name, filter=catalog.dtype_filters.load(name, asked_by="--dtype"))
        for name in settings.dtype
    ]
    dtypes = frozenset[str]().union(*(item.filter.dtypes for item in filters)) if filters else None
    request = SuiteRequest(
        dtypes=dtypes, cases_per_operator=settings.cases_per_operator, files=settings.suite_file, note=note
    )
    found = _named(suite, request, settings, only) if settings.ops else _all(suite, request, only)
    kept: list[OperatorCases] = []
    left_out: list[OperatorCases] = []
    for item in found:
        if settings.kind and item.kind not in settings.kind:
            continue
        if settings.as_dtype and item.module is not None:
            message = f"--as-dtype cannot change {item.operator}: a module is recorded with its own dtypes"
            raise UsageError(message, hint="change the dtype in the problem file")
        filtered = narrow(_filtered(retyped(item, settings.as_dtype), filters), settings)
        filtered = limited(largest(filtered, settings), settings.cases_per_operator)
        if filtered.cases or filtered.fault or settings.ops:
            kept.append(filtered)
        else:
            left_out.append(filtered)
        if settings.num_operators and len(kept) == settings.num_operators:
            break
    chosen = tuple(item for item in sampled(kept, settings) if item.cases or item.fault or settings.ops)
    notes = [*(suite.data_notes() if isinstance(suite, TellsItsData) else ()), *_left_out(left_out)]
    if not chosen:
        raise _nothing_left(settings, notes)
    for text in notes:
        (note or _say_nothing)(text)
    return Selection(
        suite=settings.suite if isinstance(suite, ReadsFiles) or not settings.suite_file else FILE_SUITE,
        suite_sha256=suite.content_sha256(),
        operators=chosen,
        notes=tuple(notes),
        unread=tuple(suite.unread_lines()) if isinstance(suite, TellsUnreadLines) else (),
    )


def _suite(catalog: Catalog, settings: SelectionSettings) -> Suite:
    """Return the named suite, which may read files itself, or that of the given trace files.

    Raises:
        UnknownName: no such suite.
        UsageError: both were given.
    """
    suite = catalog.suites.load(settings.suite, asked_by="--suite")
    if not settings.suite_file or isinstance(suite, ReadsFiles):
        return suite
    if settings.suite not in {SelectionSettings().suite, TORCHBENCH}:
        message = f"--suite {settings.suite} and --suite-file {settings.suite_file[0]} contradict each other"
        raise UsageError(message, hint="give one of them; files of traces need no name")
    from kagent_bench.suites.trace.open import file_suite

    return file_suite(settings.suite_file)


def _say_nothing(text: str) -> None:
    del text


def match_operators(asked: str, names: Collection[ProblemName]) -> tuple[ProblemName, ...]:
    """Return the problems that ``asked`` means: an exact overload, an exact base name, or a module.

    A base name means its ``default`` overload, or every overload where there is no ``default`` one. A module is
    meant by its name or its file's stem.
    """
    modules = tuple(item for item in names if isinstance(item, ModuleName))
    if modules:
        return tuple(item for item in modules if asked.strip() in {str(item), item.stem})
    try:
        name = OperatorName.parse(asked)
    except ValueError:
        return ()
    if name in names:
        return (name,)
    if "." in asked.strip().replace("::", ".").removeprefix("aten."):
        return ()
    operators = (item for item in names if isinstance(item, OperatorName))
    return tuple(sorted(item for item in operators if item.base == name.base))


def _named(
    suite: Suite, request: SuiteRequest, settings: SelectionSettings, only: frozenset[ProblemName] | None
) -> Iterator[OperatorCases]:
    """Yield the operators that ``ops`` names.

    Names are looked up among the operators with cases of the wanted dtypes first, so that a suite need not
    build the other ones; an operator that has only other dtypes comes with those, to be skipped.
    """
    near = frozenset(suite.operator_names(request))
    everything = near
    wanted: set[ProblemName] = set()
    for asked in settings.ops:
        found = match_operators(asked, near)
        if not found:
            if everything is near and request.dtypes is not None:
                everything = frozenset(suite.operator_names(replace(request, dtypes=None)))
            found = match_operators(asked, everything)
        if not found:
            raise UnknownName(_OPERATOR, asked, _spellings(everything), asked_by="--ops")
        wanted.update(found)
    if only is not None:
        wanted &= only
    items = list(suite.operators(replace(request, operators=frozenset(wanted & near))))
    if absent := frozenset(wanted - near):
        items += suite.operators(replace(request, operators=absent, dtypes=None))
    by_name = {item.operator: item for item in items if item.operator in wanted}
    return iter(by_name[name] for name in sorted(by_name, key=str))


def _all(suite: Suite, request: SuiteRequest, only: frozenset[ProblemName] | None) -> Iterator[OperatorCases]:
    for item in suite.operators(replace(request, operators=only)):
        if only is None or item.operator in only:
            yield item


def _filtered(item: OperatorCases, filters: list[_NamedFilter]) -> OperatorCases:
    """Apply the filters; a call that samples of several dtypes make, of an index alone for example, is one case."""
    kept: dict[str, Case] = {}
    skipped = list(item.skipped)
    for case in item.cases:
        reason = _skip_reason(case, filters) if filters else None
        if reason is None:
            kept.setdefault(case.id, case)
        else:
            skipped.append(SkippedCase(case=case, reason=reason))
    skipped = [skip for skip in skipped if skip.case.id not in kept]
    return replace(item, cases=tuple(kept.values()), skipped=tuple(skipped))


def _left_out(items: list[OperatorCases]) -> Iterator[str]:
    """Yield what is said of operators none of whose cases are kept."""
    reasons = Counter(skip.reason for item in items for skip in item.skipped)
    if reasons:
        shown = [f"{count} x {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
        if len(reasons) > MOST_REASONS:
            shown.append(f"{len(reasons) - MOST_REASONS} further reasons")
        yield f"operators left out because all their cases are skipped: {len(items)} ({'; '.join(shown)})"


def _skip_reason(case: Case, filters: list[_NamedFilter]) -> str | None:
    reasons = []
    for item in filters:
        reason = item.filter.skip_reason(case)
        if reason is None:
            return None
        if not reason:
            message = f"dtype filter '{item.name}' skipped case {case.id} of {case.operator} without a reason"
            raise PluginError(message, hint="its skip_reason must return None or say why")
        reasons.append(reason)
    return "; ".join(reasons)


def _spellings(names: Iterable[ProblemName]) -> set[str]:
    """Everything that ``--ops`` would accept, for near matches."""
    return {
        text
        for name in names
        for text in (str(name), name.base if isinstance(name, OperatorName) else name.stem)
    }


def _nothing_left(settings: SelectionSettings, notes: list[str]) -> UsageError:
    files = [f"--suite-file {path}" for path in settings.suite_file]
    chosen = files or [f"--suite {settings.suite}"]
    chosen += [f"--ops {','.join(settings.ops)}"] if settings.ops else []
    chosen += [f"--dtype {','.join(settings.dtype)}"] if settings.dtype else []
    message = f"no operator is selected by {' '.join(chosen)}"
    shown = "without --dtype" if settings.dtype else "with --suite alone"
    hint = f"see what the suite holds: kab list --suite {settings.suite} ({shown})"
    if files:
        message = f"{message}: {'; '.join(notes)}"
        hint = "mend the file, or choose otherwise: kab list --help"
    return UsageError(message, hint=hint)
