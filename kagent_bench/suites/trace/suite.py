"""A suite made of traces: the calls of models as cases, with values that mean something to each operator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kagent_bench.model.identity import digest
from kagent_bench.model.selection import OperatorCases, SkippedCase
from kagent_bench.suites.aten import aten_schemas
from kagent_bench.suites.left_out import left_out_notes
from kagent_bench.suites.trace.draft import Draft, NoCase
from kagent_bench.suites.trace.inputs.registry import choose_values
from kagent_bench.suites.trace.load import merge_cases
from kagent_bench.suites.trace.notation import arguments_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kagent_bench.hooks.protocols import SuiteRequest
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import OperatorName
    from kagent_bench.suites.aten import Schema
    from kagent_bench.suites.trace.call import TracedCall
    from kagent_bench.suites.trace.load import LoadedTraces

SHOWN = 3
"""Problems that a note names; all are counted."""
REASON_LETTERS = 160
"""Letters of a file's own reason that are kept."""
PROBABILITIES = ("dropout_p", "p")
"""Arguments that make an operator random; at zero it is not."""


class TraceSuite:
    """The calls of one or more traces.

    Cases come in the order of how often they were called. Dtypes are not looked at here, nor is the number of
    cases: what the selection leaves out is to be stored with its reason.
    """

    def __init__(self, load: Callable[[], LoadedTraces], about: str) -> None:
        """Take how the traces are loaded, when they are needed, and what they are, in words."""
        self._load = load
        self._about = about
        self._loaded: LoadedTraces | None = None
        self._by_operator: dict[OperatorName, list[TracedCall]] = {}
        self._built: dict[OperatorName, OperatorCases] = {}
        self._left_out: dict[OperatorName, Counter[str]] = {}

    # --- what the suite protocol asks for ---------------------------------------------------------------------

    def content_sha256(self) -> str:
        """Return a hash of every call with its count and sources."""
        lines = [
            [
                str(call.operator),
                arguments_text(call.arguments),
                call.count,
                [source.model for source in call.sources],
            ]
            for call in self._traces().calls
        ]
        return digest(sorted(lines, key=repr))

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[OperatorName, ...]:
        """Return the operators with cases of the request's dtypes, sorted."""
        dtypes = None if request is None else request.dtypes
        names = []
        self._traces()
        for name in self._by_operator:
            item = self._operator(name)
            if item.cases and (dtypes is None or any(case.dtype in dtypes for case in item.cases)):
                names.append(name)
        return tuple(names)

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with all of their cases, sorted by name; ``skipped`` has what the files exclude."""
        self._traces()
        for name in self._by_operator:
            if request.operators is None or name in request.operators:
                item = self._operator(name)
                if item.cases or item.skipped:
                    yield item

    def data_notes(self) -> tuple[str, ...]:
        """Return which data was used, which lines could not be read, and which calls make no case and why."""
        traces = self._traces()
        notes = [f"{self._about}: {len(traces.calls)} different calls in {traces.n_lines} lines"]
        if traces.recorders:
            notes.append(f"recorded with {'; '.join(traces.recorders[:SHOWN])}")
        if traces.problems:
            shown = "; ".join(str(problem) for problem in traces.problems[:SHOWN])
            more = f"; and {len(traces.problems) - SHOWN} more" if len(traces.problems) > SHOWN else ""
            notes.append(f"{len(traces.problems)} lines could not be read: {shown}{more}")
        notes += left_out_notes((name, self.left_out(name)) for name in self._by_operator)
        return tuple(notes)

    def unread_lines(self) -> tuple[str, ...]:
        """Return every line that could not be read, and why."""
        return tuple(map(str, self._traces().problems))

    def left_out(self, operator: OperatorName) -> dict[str, int]:
        """Return how many different calls of an operator are no cases, by reason."""
        self._traces()
        self._operator(operator)
        return dict(self._left_out.get(operator, {}))

    # --- making cases -----------------------------------------------------------------------------------------

    def _traces(self) -> LoadedTraces:
        if self._loaded is None:
            self._loaded = self._load()
            for call in self._loaded.calls:
                self._by_operator.setdefault(call.operator, []).append(call)
        return self._loaded

    def _operator(self, name: OperatorName) -> OperatorCases:
        if name not in self._built:
            self._built[name] = self._build(name)
        return self._built[name]

    def _build(self, name: OperatorName) -> OperatorCases:
        calls = self._by_operator.get(name, [])
        schema = aten_schemas().get(name)
        if schema is None:
            self._left_out[name] = Counter({"the installed torch has no such operator": len(calls)})
            return OperatorCases(operator=name, kind="value", cases=())
        left_out: Counter[str] = Counter()
        cases: dict[str, Case] = {}
        skipped: dict[str, SkippedCase] = {}
        for call in sorted(calls, key=lambda call: -call.count):
            try:
                case = make(call, schema)
            except NoCase as reason:
                left_out[str(reason)] += 1
                continue
            if call.excluded:
                skipped.setdefault(
                    case.id,
                    SkippedCase(case=case, reason=f"the suite's file says: {_brief(call.excluded)}"),
                )
            else:
                # Strides that say nothing, and sizes of one, may be written in several ways.
                same = cases.get(case.id)
                cases[case.id] = case if same is None else merge_cases(same, case)
        self._left_out[name] = left_out
        return OperatorCases(
            operator=name,
            kind=kind_of(schema, cases.values()),
            cases=tuple(sorted(cases.values(), key=lambda case: -case.count)),
            skipped=tuple(item for item in skipped.values() if item.case.id not in cases),
        )


def _brief(reasons: Iterable[str]) -> str:
    """Return reasons in one line: a file may quote pages of torch."""
    return "; ".join((reason.splitlines() or [""])[0][:REASON_LETTERS] for reason in reasons)


def make(call: TracedCall, schema: Schema) -> Case:
    """Return the case of a traced call.

    Raises:
        NoCase: there is none; the text says why.
    """
    draft = Draft(call, schema)
    choose_values(draft)
    return draft.case()


def kind_of(schema: Schema, cases: Iterable[Case]) -> str:
    """Return how an operator can be judged: one that is random by a probability which is zero everywhere has values."""
    names = [argument.name for argument in schema.arguments]
    index = next((names.index(name) for name in PROBABILITIES if name in names), None)
    if schema.kind != "random" or index is None:
        return schema.kind

    def probability(case: Case) -> object:
        named = dict(case.kwargs)
        return case.args[index] if index < len(case.args) else named.get(names[index], 0.0)

    return "value" if all(probability(case) == 0 for case in cases) else "random"
