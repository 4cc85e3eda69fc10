"""Evaluating a selection: which run folder, which cases are known, who judges the rest, and what is recorded."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import UsageError
from kagent_bench.evaluate.session import Session
from kagent_bench.evaluate.supervisor import KernelJob, KeyedCase
from kagent_bench.evaluate.tolerance import tolerance_table
from kagent_bench.model.call_text import call_text
from kagent_bench.model.identity import digest
from kagent_bench.model.verdict import FINE, operator_verdict
from kagent_bench.stores.kernels import KernelStore
from kagent_bench.stores.paths import RUNS_ROOT, new_run_dir, resumable_run
from kagent_bench.stores.results import ResultsStore, read_seed
from kagent_bench.stores.run_file import KernelFile, RunFile, RunState, SelectedCase, SelectedOperator
from kagent_bench.version import installed_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kagent_bench.config.resolve import ResolvedSettings
    from kagent_bench.hooks.catalog import Catalog
    from kagent_bench.model.kernel import Kernel
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import OperatorCases, Selection

JUDGING_VERSION = 2
"""Raised whenever the same kernel on the same case may get another record."""


def evaluate_selection(
    selection: Selection,
    resolved: ResolvedSettings,
    catalog: Catalog,
    progress: Progress,
    *,
    only_cases: frozenset[str] | None = None,
    fresh: bool = False,
    command: tuple[str, ...] = (),
) -> Path:
    """Judge the kernels of the selection and return the run folder.

    Args:
        selection: the denominator.
        resolved: the settings with their origins.
        catalog: where the executor is looked up.
        progress: told of every operator.
        only_cases: the selection was narrowed to these cases; they are judged in a run of their own, with the
            inputs of the run folder that the settings name.
        fresh: never go on with an interrupted run.
        command: the command line, stored.

    Raises:
        UsageError: the run folder is in use or belongs to other work; the device is not there.
        InputError: the kernels folder cannot be read.
        HarnessFault: the harness cannot go on; what was judged is stored.
    """
    settings = resolved.settings
    kernels = KernelStore(settings.base_dir)
    kernels.operators()
    found = {item.operator: kernel for item in selection.operators if (kernel := kernels.find(item.operator))}
    executor = catalog.executors.load(settings.evaluate.executor, asked_by="--executor")
    with Session(settings, secret_paths=[settings.base_dir], times=True) as session:
        context = _context(resolved, selection, session.machine)
        fingerprint = digest(
            context | {"base_dir": str(settings.base_dir.resolve()), "cases": _case_ids(selection)}
        )
        run_dir = _run_dir(settings.run_dir, selection, fingerprint, fresh=fresh, only_cases=only_cases)
        with ResultsStore.open(run_dir) as store:
            _refuse_other_work(store, run_dir, selection, session.machine)
            seed = read_seed(settings.run_dir) if only_cases and settings.run_dir else None
            session.add_secret_path(run_dir)
            session.reseed(seed or store.seed)
            identity = digest(context)
            selected = _selected(selection, found, identity)
            for text in kernels.warnings:
                progress.warn(text)
            run_file = RunFile(
                kab_version=installed_version() or "unknown",
                created=store.run.created if store.run else _now(),
                finished=None,
                state=RunState.RUNNING,
                command=command,
                fingerprint=fingerprint,
                suite_name=selection.suite,
                suite_sha256=selection.suite_sha256,
                settings=resolved.to_json()["settings"],
                origins=resolved.origins,
                versions={"kab": installed_version(), **session.machine["versions"]},
                device={key: value for key, value in session.machine.items() if key != "versions"},
                self_test=session.ability.to_json() if session.ability else {},
                selection=selected,
                kernels={
                    str(name): KernelFile(path=str(kernel.path), sha256=kernel.sha256)
                    for name, kernel in found.items()
                },
                spending={
                    str(item.operator): spent.to_json()
                    for item in selection.operators
                    if (spent := kernels.spending(item.operator)) is not None
                },
                warnings=kernels.warnings,
                notes=selection.notes,
            )
            store.write_run(run_file)
            containment = _judge_all(selection, selected, found, kernels, store, session, executor, progress)
            store.write_run(
                replace(run_file, state=RunState.FINISHED, finished=_now(), containment=containment or {})
            )
    return run_dir


def _judge_all(
    selection: Selection,
    selected: tuple[SelectedOperator, ...],
    found: Mapping[ProblemName, Kernel],
    kernels: KernelStore,
    store: ResultsStore,
    session: Session,
    executor: Any,
    progress: Progress,
) -> Mapping[str, Any] | None:
    """Judge what is not known yet; returns what held the candidates in."""
    keys = {item.op_name: {case.id: case.key for case in item.cases} for item in selected}
    progress.begin("evaluate", len(selection.operators))
    jobs = []
    for item in selection.operators:
        kernel = found.get(item.operator)
        own = keys[str(item.operator)]
        unknown = [case for case in item.cases if kernel and own[case.id] not in store.known]
        if item.fault is not None or kernel is None or not unknown:
            _tell(progress, item, store, own, has_kernel=kernel is not None)
            continue
        keyed = tuple(KeyedCase(case=case, key=own[case.id] or "") for case in unknown)
        job = KernelJob(
            kernel=kernel,
            source=kernels.read_source(kernel),
            kind=item.kind,
            cases=keyed,
            module=item.module,
        )
        jobs.append((item, job))
    containment: dict[str, Any] = {}

    def work(worker: int, job: tuple[OperatorCases, KernelJob]) -> OperatorCases:
        item, kernel_job = job
        supervisor = session.supervisor(worker)
        for record in supervisor.judge(kernel_job):
            store.append(record)
        containment.update(supervisor.containment or {})
        return item

    try:
        for item in executor.map(work, jobs, n_workers=min(session.n_workers, max(1, len(jobs)))):
            _tell(progress, item, store, keys[str(item.operator)], has_kernel=True)
    except BaseException:
        session.close()
        raise
    finally:
        progress.finish()
    return containment or (store.run.containment if store.run else None)


def _tell(
    progress: Progress,
    item: OperatorCases,
    store: ResultsStore,
    keys: Mapping[str, str | None],
    *,
    has_kernel: bool,
) -> None:
    if item.fault is not None:
        progress.done(str(item.operator), f"not_judged ({item.fault.reason})", ok=True)
        return
    records = [store.known[key] for key in keys.values() if key in store.known]
    verdict, reason = operator_verdict([record.judged() for record in records], has_kernel=has_kernel)
    outcome = f"{verdict.value} ({reason})" if reason else verdict.value
    progress.done(str(item.operator), outcome, ok=verdict in FINE)


def _context(resolved: ResolvedSettings, selection: Selection, machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything besides kernel and case that a record depends on."""
    evaluate = asdict(resolved.settings.evaluate)
    del evaluate["executor"]
    return {
        "judging": JUDGING_VERSION,
        "suite": selection.suite,
        "device": machine["name"],
        "versions": machine["versions"],
        "evaluate": evaluate,
        "limits": {
            dtype: [limits.relative, limits.accumulated]
            for dtype, limits in tolerance_table(resolved.settings.tolerance).items()
        },
    }


def _selected(
    selection: Selection, found: Mapping[ProblemName, Kernel], identity: str
) -> tuple[SelectedOperator, ...]:
    selected = []
    for item in selection.operators:
        kernel = found.get(item.operator)
        cases = tuple(
            SelectedCase(
                id=case.id,
                dtype=case.dtype,
                origin=case.origin,
                held_out=case.held_out,
                key=digest([identity, kernel.sha256, item.kind, case.id, case.dtype]) if kernel else None,
                call=call_text(case),
            )
            for case in item.cases
        )
        skipped = Counter(skip.reason for skip in item.skipped)
        selected.append(
            SelectedOperator(
                op_name=str(item.operator),
                kind=item.kind,
                cases=cases,
                skipped=dict(skipped),
                fault=item.fault,
            )
        )
    return tuple(selected)


def _run_dir(
    wanted: Path | None,
    selection: Selection,
    fingerprint: str,
    *,
    fresh: bool,
    only_cases: frozenset[str] | None,
) -> Path:
    if only_cases:
        return new_run_dir(RUNS_ROOT, f"{selection.suite}_case")
    if wanted is not None:
        return wanted
    going_on = None if fresh else resumable_run(RUNS_ROOT, fingerprint)
    return going_on or new_run_dir(RUNS_ROOT, selection.suite)


def _refuse_other_work(
    store: ResultsStore, run_dir: Path, selection: Selection, machine: Mapping[str, Any]
) -> None:
    """Refuse to mix results of another suite, machine or version into one run folder."""
    if store.run is None:
        return
    pairs = {
        "suite": (store.run.suite_name, selection.suite),
        "suite content": (store.run.suite_sha256, selection.suite_sha256),
        "device": (store.run.device.get("name"), machine["name"]),
        "torch": (store.run.versions.get("torch"), machine["versions"]["torch"]),
        "triton": (store.run.versions.get("triton"), machine["versions"]["triton"]),
    }
    for what, (stored, now) in pairs.items():
        if stored != now:
            message = f"the run folder {run_dir} was made with another {what}: {stored}, now {now}"
            raise UsageError(message, hint="name another --run-dir, or leave it out for a new one")


def _case_ids(selection: Selection) -> list[str]:
    return [case.id for item in selection.operators for case in item.cases]


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
