"""``kab run``: the four phases in one step."""

from __future__ import annotations

import typer

from kagent_bench.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    context: typer.Context,
    base_dir: options.BaseDir = None,
    run_dir: options.RunDir = None,
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
    interpreter_elements: options.InterpreterElements = None,
    output_limit_kib: options.OutputLimit = None,
    tolerance: options.Tolerance = None,
    fresh: options.Fresh = False,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Set up, generate, evaluate and report."""
    from kagent_bench import pipeline
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.cli.verdict import show_and_exit

    with invocation(context) as call:
        result = pipeline.run(call.resolved, call.catalog, call.progress, fresh=fresh, command=call.command)
    show_and_exit(result.evaluate, call, as_json=as_json, value=result.to_json())
