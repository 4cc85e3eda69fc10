"""``kab generate``: kernels from a generator."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json
from kagent_bench.errors import ExitCode


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("generate")(generate)


def generate(
    context: typer.Context,
    base_dir: options.BaseDir = None,
    suite: options.Suite = None,
    ops: options.Ops = None,
    dtype: options.Dtype = None,
    num_operators: options.NumOperators = None,
    cases_per_operator: options.CasesPerOperator = None,
    workflow: options.Workflow = None,
    max_attempts: options.MaxAttempts = None,
    time_limit_s: options.TimeLimit = None,
    force: options.Force = None,
    num_workers: options.NumWorkers = None,
    device: options.Device = None,
    policy: options.Policy = None,
    rounds: options.Rounds = None,
    case_timeout_s: options.CaseTimeout = None,
    startup_timeout_s: options.StartupTimeout = None,
    kernel_timeout_s: options.KernelTimeout = None,
    memory_limit_mib: options.MemoryLimit = None,
    tolerance: options.Tolerance = None,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Have a generator write kernels.

    What is up to date is not done again, unless --force is given.
    """
    from kagent_bench import pipeline
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.cli.words import generate_words

    with invocation(context) as call:
        result = pipeline.generate(call.resolved, call.catalog, call.progress)
    emit_json(result.to_json()) if as_json else emit(generate_words(result))
    raise typer.Exit(ExitCode.OK if result.ok else ExitCode.FAILURES)
