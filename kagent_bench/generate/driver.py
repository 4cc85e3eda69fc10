"""Drives a generator over a selection: several operators at a time, each with its own fate.

An operator's exception, hang or failure is its own outcome and the others go on. What is finished is on disk at
once, so Ctrl-C loses nothing: the next generation finds those operators up to date.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kagent_bench.artefacts.manifest import require_manifest
from kagent_bench.generate.device import device_kind
from kagent_bench.generate.operator import StoppedError, Work, generate_operator
from kagent_bench.generate.summary import GeneratedOperator, GenerateSummary, Outcome
from kagent_bench.hooks.protocols import GenerationSession
from kagent_bench.stores.kernels import KernelStore

if TYPE_CHECKING:
    from kagent_bench.config.schema import Settings
    from kagent_bench.generate.attempts import Judge
    from kagent_bench.hooks.protocols import Generator
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import OperatorCases, Selection


def generate_kernels(
    selection: Selection,
    generator_name: str,
    generator: Generator,
    settings: Settings,
    judge_factory: Callable[[OperatorCases], Judge],
    progress: Progress,
    *,
    tolerance: Mapping[str, float] | None = None,
    device: str | None = None,
) -> GenerateSummary:
    """Have a generator write a kernel for every selected operator that has no up-to-date one.

    Args:
        selection: The operators and their cases.
        generator_name: The name that the generator is chosen by, and its table of options.
        generator: Writes the kernels; called from several threads. A session says itself how many.
        settings: ``base_dir``, ``num_workers``, ``generate`` and ``generators`` are read.
        judge_factory: Gives the evaluator's judge of one operator; called only where a judge is needed.
        progress: Told of each operator.
        tolerance: Tolerance factor per dtype; None for the settings' own table.
        device: Kind of device to generate for; None to find out.

    Raises:
        UsageError: the artefacts in ``base_dir`` are missing, stale or edited.
        KeyboardInterrupt: the user stopped it; all that was finished is stored.
    """
    require_manifest(settings.base_dir, selection)
    settings.base_dir.mkdir(parents=True, exist_ok=True)
    work = Work(
        store=KernelStore(settings.base_dir),
        name=generator_name,
        generator=generator,
        settings=settings,
        tolerance=settings.tolerance if tolerance is None else tolerance,
        device=device or device_kind(settings.evaluate.device),
        judge_factory=judge_factory,
    )
    progress.begin("generate", len(selection.operators))
    try:
        operators = _all(selection.operators, work, progress)
    finally:
        progress.finish()
    warnings = work.store.warnings
    for warning in warnings:
        progress.warn(warning)
    return GenerateSummary(
        generator=generator_name,
        generator_version=generator.version,
        base_dir=settings.base_dir,
        operators=operators,
        warnings=warnings,
    )


def _all(items: tuple[OperatorCases, ...], work: Work, progress: Progress) -> tuple[GeneratedOperator, ...]:
    pending: queue.SimpleQueue[int] = queue.SimpleQueue()
    ended: queue.SimpleQueue[tuple[int, GeneratedOperator | BaseException]] = queue.SimpleQueue()
    for index in range(len(items)):
        pending.put(index)

    def work_off() -> None:
        while not work.stopped.is_set():
            try:
                index = pending.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((index, generate_operator(items[index], work)))
            except StoppedError:
                return
            except BaseException as error:  # noqa: BLE001 - a fault of the harness, raised again below
                ended.put((index, error))

    n_workers = min(len(items), _operators_at_once(work))
    for number in range(n_workers):
        threading.Thread(target=work_off, name=f"generate-{number}", daemon=True).start()
    results: dict[int, GeneratedOperator] = {}
    try:
        while len(results) < len(items):
            index, result = ended.get()
            if isinstance(result, BaseException):
                raise result
            results[index] = result
            _tell(result, progress)
    finally:
        with work.writing:
            work.stopped.set()
    return tuple(results[index] for index in range(len(items)))


def _tell(result: GeneratedOperator, progress: Progress) -> None:
    outcome = f"{result.outcome} ({result.reason})" if result.reason else result.outcome.value
    progress.done(result.op_name, outcome, ok=result.ok)
    if result.outcome in {Outcome.KEPT, Outcome.ERROR, Outcome.TIMEOUT}:
        progress.warn(f"{result.op_name}: {result.detail}")
    elif result.detail:
        progress.note(f"{result.op_name}: {result.detail}")


def _operators_at_once(work: Work) -> int:
    """Return how many operators are worked on at a time: a session that mostly waits wants more than cores."""
    if isinstance(work.generator, GenerationSession) and work.generator.operators_at_once:
        return work.generator.operators_at_once
    return work.settings.num_workers or _cores()


def _cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0))
