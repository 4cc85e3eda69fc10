"""``kab config show``: every setting, its value and where that came from."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import columns, emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(help="Show the settings.", rich_markup_mode=None)
    group.callback()(_group)
    group.command("show")(show)
    app.add_typer(group, name="config")


def _group() -> None:
    """Show the settings."""


def show(
    context: typer.Context,
    base_dir: options.BaseDir = None,
    run_dir: options.RunDir = None,
    suite: options.Suite = None,
    ops: options.Ops = None,
    dtype: options.Dtype = None,
    num_operators: options.NumOperators = None,
    cases_per_operator: options.CasesPerOperator = None,
    interpreter_elements: options.InterpreterElements = None,
    workflow: options.Workflow = None,
    max_attempts: options.MaxAttempts = None,
    time_limit_s: options.TimeLimit = None,
    force: options.Force = None,
    num_workers: options.NumWorkers = None,
    compile_target: options.CompileTarget = None,
    executor: options.Executor = None,
    device: options.Device = None,
    devices: options.Devices = None,
    performance: options.Performance = None,
    baseline: options.Baseline = None,
    kernel_time_calls: options.KernelTime = None,
    policy: options.Policy = None,
    rounds: options.Rounds = None,
    case_timeout_s: options.CaseTimeout = None,
    startup_timeout_s: options.StartupTimeout = None,
    kernel_timeout_s: options.KernelTimeout = None,
    memory_limit_mib: options.MemoryLimit = None,
    output_limit_kib: options.OutputLimit = None,
    tolerance: options.Tolerance = None,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Show every setting with its origin.

    And the environment variable and the option that can change it.
    """
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.config.generator_keys import generator_keys
    from kagent_bench.config.show import settings_rows

    with invocation(context) as call:
        rows = settings_rows(call.resolved, generator_keys(call.catalog.generator_entries()))
    if as_json:
        emit_json({**call.resolved.to_json(), "keys": [row.to_json() for row in rows]})
        return
    heading = ("setting", "value", "origin", "variable", "option")
    emit(columns([heading, *(row.cells() for row in rows)], indent=""))
