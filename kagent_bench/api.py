"""The Python API: the phases as functions with the settings as keyword arguments.

Every argument left out, or None, is resolved as on the command line: default, configuration file, environment.
Errors are the exceptions of ``kagent_bench.errors``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from kagent_bench import pipeline
from kagent_bench.config.generator_keys import generator_keys
from kagent_bench.config.resolve import ResolvedSettings, argument_layer, resolve
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.model.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from kagent_bench.artefacts.write import SetupResult
    from kagent_bench.generate.summary import GenerateSummary
    from kagent_bench.hooks.catalog import Catalog
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.summary import RunSummary


class SettingsArguments(TypedDict, total=False):
    """The settings by name, see ``kagent_bench.config.schema``."""

    base_dir: str | Path | None
    run_dir: str | Path | None
    num_workers: int | None
    suite: str | None
    ops: Sequence[str] | None
    dtype: Sequence[str] | None
    num_operators: int | None
    cases_per_operator: int | None
    suite_file: Sequence[str] | None
    as_dtype: str | None
    kind: Sequence[str] | None
    traced_model: Sequence[str] | None
    min_count: int | None
    min_bytes: int | None
    max_bytes: int | None
    top_n: int | None
    sample: int | None
    sample_seed: int | None
    split: str | None
    workflow: str | None
    max_attempts: int | None
    time_limit_s: float | None
    force: bool | None
    device: str | None
    policy: str | None
    compile_target: str | None
    executor: str | None
    rounds: int | None
    case_timeout_s: float | None
    startup_timeout_s: float | None
    kernel_timeout_s: float | None
    memory_limit_mib: int | None
    interpreter_elements: int | None
    output_limit_kib: int | None
    performance: str | None
    baseline: Sequence[str] | None
    kernel_time_calls: int | None
    tolerance: Mapping[str, float] | None


def setup(
    *,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingsArguments],
) -> SetupResult:
    """Write operator folders with problem statements and tests.

    Args:
        config: configuration file.
        progress: told of every step.
        settings: see ``SettingsArguments``.

    Raises:
        UsageError: a setting cannot be used.
    """
    catalog = build_catalog()
    return pipeline.setup(_resolved(settings, config, catalog), catalog, progress or Silent())


def generate(
    *,
    options: Mapping[str, Any] | None = None,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingsArguments],
) -> GenerateSummary:
    """Have a generator write kernels.

    Args:
        options: the generator's own options, by name.
        config: configuration file.
        progress: told of every step.
        settings: see ``SettingsArguments``.

    Raises:
        UsageError: a setting cannot be used.
    """
    catalog = build_catalog()
    return pipeline.generate(_resolved(settings, config, catalog, options), catalog, progress or Silent())


def evaluate(
    *,
    cases: Sequence[str] = (),
    fresh: bool = False,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingsArguments],
) -> RunSummary:
    """Judge the kernels of a folder.

    Args:
        cases: ids of the only cases to judge; empty for all.
        fresh: never resume an interrupted run.
        config: configuration file.
        progress: told of every step.
        settings: see ``SettingsArguments``.

    Raises:
        UsageError: a setting cannot be used, or the kernels folder is missing.
    """
    catalog = build_catalog()
    resolved = _resolved(settings, config, catalog)
    return pipeline.evaluate(resolved, catalog, progress or Silent(), cases=cases, fresh=fresh)


def report(run_dir: str | Path | None = None) -> RunSummary:
    """Summarise a stored run.

    Args:
        run_dir: the run's folder; None for the latest under ``log_BackendBench``.

    Raises:
        InputError: there is no such run, or it cannot be read.
    """
    return pipeline.report(None if run_dir is None else Path(run_dir))


def run(
    *,
    fresh: bool = False,
    options: Mapping[str, Any] | None = None,
    config: str | Path | None = None,
    progress: Progress | None = None,
    **settings: Unpack[SettingsArguments],
) -> pipeline.RunResult:
    """Do all phases in one step.

    Args:
        fresh: never resume an interrupted run.
        options: the generator's own options, by name.
        config: configuration file.
        progress: told of every step.
        settings: see ``SettingsArguments``.

    Raises:
        UsageError: a setting cannot be used.
    """
    catalog = build_catalog()
    return pipeline.run(
        _resolved(settings, config, catalog, options), catalog, progress or Silent(), fresh=fresh
    )


def _resolved(
    settings: SettingsArguments,
    config: str | Path | None,
    catalog: Catalog,
    options: Mapping[str, Any] | None = None,
) -> ResolvedSettings:
    entries = catalog.generator_entries()
    given = argument_layer({**settings, **(options or {})}, generator_keys(entries))
    return resolve(given, config=None if config is None else Path(config), generators=entries)
