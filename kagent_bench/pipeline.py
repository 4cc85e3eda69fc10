"""Composes the phases: the only module that knows all of them.

Each phase works alone on what the former one left on disk. What is heavy is imported by the phase that needs it,
after what the user asked for has been checked.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import InputError, UnknownName, UsageError
from kagent_bench.model.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kagent_bench.artefacts.write import SetupResult
    from kagent_bench.config.resolve import ResolvedSettings
    from kagent_bench.evaluate.case_check.check import CaseCheck
    from kagent_bench.generate.summary import GenerateSummary
    from kagent_bench.hooks.catalog import Catalog
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import Selection
    from kagent_bench.model.summary import RunSummary
    from kagent_bench.suites.tracing.record import Recording

_SILENT = Silent()
_NO_ARTEFACTS = frozenset({"absent", "not_set_up"})
"""Findings on a manifest that only say that there was no setup."""
_CASE = "case"
"""The kind of name, in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What the four phases in one step gave."""

    setup: SetupResult
    generate: GenerateSummary
    evaluate: RunSummary

    def to_json(self, *, cases: bool = False) -> dict[str, Any]:
        """Return the JSON form: that of the report, and beside it what the first two phases did."""
        return {
            **self.evaluate.to_json(cases=cases),
            "setup": self.setup.to_json(),
            "generate": self.generate.to_json(),
        }


def all_fine(summary: RunSummary) -> bool:
    """Return whether every selected operator is correct, or lawfully skipped or not judged."""
    return bool(summary.operators) and all(item.fine for item in summary.operators)


def choose(resolved: ResolvedSettings, catalog: Catalog, progress: Progress = _SILENT) -> Selection:
    """Return the selected operators and cases.

    Raises:
        UsageError: a name is unknown, or nothing is selected.
    """
    from kagent_bench.suites.select import select

    selection = select(catalog, resolved.settings.selection, note=progress.tell)
    for line in selection.unread:
        progress.note(line)
    return selection


def check_cases(selection: Selection, progress: Progress = _SILENT) -> dict[tuple[str, str], CaseCheck]:
    """Try every selected case in eager PyTorch; returns what came of it by operator and case id."""
    from kagent_bench.evaluate.case_check.check import check_selection

    return check_selection(selection, progress)


def setup(resolved: ResolvedSettings, catalog: Catalog, progress: Progress = _SILENT) -> SetupResult:
    """Write the operator folders and their static artefacts; never touches a kernel.

    Raises:
        UsageError: a name is unknown, or nothing is selected.
    """
    selection = choose(resolved, catalog, progress)
    settings = resolved.settings
    from kagent_bench.artefacts.write import write_artefacts
    from kagent_bench.evaluate.tolerance import relative_factors

    return write_artefacts(settings.base_dir, selection, relative_factors(settings.tolerance), progress)


def generate(resolved: ResolvedSettings, catalog: Catalog, progress: Progress = _SILENT) -> GenerateSummary:
    """Have the generator write a kernel for every selected operator that has no up-to-date one.

    Raises:
        UsageError: a name is unknown, or nothing is selected.
    """
    settings = resolved.settings
    name = settings.generate.workflow
    from kagent_bench.generate.session import check_generator, opened
    from kagent_bench.hooks.protocols import GenerationSession

    generator = catalog.generators.load(name, asked_by="--workflow")
    check_generator(generator, name, settings)
    selection = choose(resolved, catalog, progress)
    from kagent_bench.artefacts.manifest import require_manifest
    from kagent_bench.evaluate.judge import JudgePool
    from kagent_bench.evaluate.tolerance import relative_factors
    from kagent_bench.generate.driver import generate_kernels

    require_manifest(settings.base_dir, selection)
    tolerance = relative_factors(settings.tolerance)
    with JudgePool(settings) as judges, opened(generator, name, settings, selection) as session:
        if isinstance(session, GenerationSession):
            judges.prepare(
                seed=session.judge_seed, secret_paths=session.secret_paths, times=session.wants_times
            )
        return generate_kernels(selection, name, session, settings, judges, progress, tolerance=tolerance)


def evaluate(
    resolved: ResolvedSettings,
    catalog: Catalog,
    progress: Progress = _SILENT,
    *,
    cases: Collection[str] = (),
    fresh: bool = False,
    command: Sequence[str] = (),
) -> RunSummary:
    """Judge the kernels of a folder, resuming an interrupted run of the same work.

    Args:
        resolved: the settings.
        catalog: where names are looked up.
        progress: told of every operator.
        cases: ids of the only cases to judge; empty for all.
        fresh: start a new run even where one could be resumed.
        command: the command line, stored to reproduce the run.

    Raises:
        UsageError: a name is unknown, nothing is selected, options contradict each other, or the kernels
            folder is missing.
    """
    settings = resolved.settings
    _refuse_contradictions(resolved, cases=cases, fresh=fresh)
    if not settings.base_dir.is_dir():
        message = f"the kernels folder '{settings.base_dir}' ({resolved.origins['base_dir']}) does not exist"
        raise InputError(message, hint="name one with --base-dir, or write kernels first: kab generate")
    catalog.executors.load(settings.evaluate.executor, asked_by="--executor")
    selection = choose(resolved, catalog, progress)
    only = frozenset(cases) or None
    if only is not None:
        selection = _narrow(selection, only)
    from kagent_bench.artefacts.manifest import check_manifest
    from kagent_bench.evaluate.run import evaluate_selection
    from kagent_bench.report.files import write_derived

    # Any kernels folder can be judged, so that one without artefacts is no fault; one whose artefacts are of
    # another suite, or were edited, may have led the generator astray.
    for finding in check_manifest(settings.base_dir, selection):
        if finding.kind not in _NO_ARTEFACTS:
            progress.warn(finding.detail)
    run_dir = evaluate_selection(
        selection, resolved, catalog, progress, only_cases=only, fresh=fresh, command=tuple(command)
    )
    summary = report(run_dir)
    write_derived(run_dir, summary)
    return summary


def report(run_dir: Path | None = None) -> RunSummary:
    """Summarise a stored run; needs neither torch nor a device.

    Args:
        run_dir: the run's folder; None for the latest.

    Raises:
        InputError: there is no such run, or it cannot be read.
    """
    from kagent_bench.report.summarise import summarise
    from kagent_bench.stores.paths import RUNS_ROOT, latest_run

    return summarise(latest_run(RUNS_ROOT) if run_dir is None else run_dir)


def run(
    resolved: ResolvedSettings,
    catalog: Catalog,
    progress: Progress = _SILENT,
    *,
    fresh: bool = False,
    command: Sequence[str] = (),
) -> RunResult:
    """Set up, generate, evaluate and summarise in one step.

    Raises:
        UsageError: as the phases do; names are checked before anything is written.
    """
    settings = resolved.settings
    _refuse_contradictions(resolved, cases=(), fresh=fresh)
    catalog.executors.load(settings.evaluate.executor, asked_by="--executor")
    from kagent_bench.generate.session import check_generator

    generator = catalog.generators.load(settings.generate.workflow, asked_by="--workflow")
    check_generator(generator, settings.generate.workflow, settings)
    return RunResult(
        setup=setup(resolved, catalog, progress),
        generate=generate(resolved, catalog, progress),
        evaluate=evaluate(resolved, catalog, progress, fresh=fresh, command=command),
    )


def trace(
    target: str,
    output: Path,
    progress: Progress = _SILENT,
    *,
    arguments: tuple[str, ...] = (),
    name: str = "",
    training: bool = False,
    execution: str = "auto",
    as_dtype: str = "",
) -> Recording:
    """Run a user's model and write the trace of its operator calls.

    Args:
        target: ``module:callable``, a file with ``Model`` and ``get_inputs``, or a script.
        output: the new trace file.
        progress: told what goes on.
        arguments: of a script.
        name: what the trace calls the model; empty for the target's own name.
        training: backward as well as forward.
        execution: ``fake``, ``real`` or ``auto``.
        as_dtype: change model and inputs to it first; empty for none.

    Raises:
        UsageError: an option cannot be used, the file exists, or the target raised.
    """
    from kagent_bench.suites.trace.export import refuse_output, write_trace
    from kagent_bench.suites.tracing.record import TraceOptions, record

    refuse_output(output)
    options = TraceOptions(
        target=target,
        arguments=arguments,
        name=name,
        training=training,
        execution=execution,
        as_dtype=as_dtype,
    )
    recording = record(options, progress.tell)
    write_trace(recording.trace, output)
    return recording


def _refuse_contradictions(resolved: ResolvedSettings, *, cases: Collection[str], fresh: bool) -> None:
    settings = resolved.settings
    if cases and settings.selection.ops:
        origin = resolved.origins["selection.ops"]
        message = f"--case contradicts the operators {', '.join(settings.selection.ops)} ({origin})"
        raise UsageError(message, hint="a case id names its operator: leave --ops out")
    if fresh and settings.run_dir is not None and settings.run_dir.exists():
        message = f"--fresh contradicts the existing run folder '{settings.run_dir}'"
        raise UsageError(message, hint="name a new folder, or leave --fresh out to go on with that run")


def _narrow(selection: Selection, only: frozenset[str]) -> Selection:
    """Keep only some cases, and the operators that have them.

    Raises:
        UnknownName: an id that is not in the selection.
    """
    known = {case.id for item in selection.operators for case in item.cases}
    unknown = sorted(only - known)
    if unknown:
        raise UnknownName(_CASE, unknown[0], known, asked_by="--case")
    operators = (
        replace(item, cases=tuple(case for case in item.cases if case.id in only), skipped=())
        for item in selection.operators
    )
    return replace(selection, operators=tuple(item for item in operators if item.cases))
