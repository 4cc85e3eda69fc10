"""``kab selftest``: what this installation catches, shown with kernels whose verdict is known."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("selftest")(selftest)


def selftest(
    context: typer.Context,
    kind: options.Kinds = None,
    only: options.OnlyKernels = None,
    device: options.Device = None,
    compile_target: options.CompileTarget = None,
    num_workers: options.NumWorkers = None,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Show what this installation catches.

    Judges the shipped cheats, faulty, hostile and honest kernels, and says what cannot be caught here.
    """
    from kagent_bench.cli.invocation import finish, invocation
    from kagent_bench.config.values import split_names
    from kagent_bench.errors import ExitCode
    from kagent_bench.evaluate.corpus.selftest import run

    with invocation(context) as call:
        found = run(call.resolved, call.progress, kinds=split_names(kind or []), only=split_names(only or []))
    if as_json:
        emit_json(found.to_json())
    else:
        emit("\n".join(found.lines()))
    finish(ExitCode.OK if found.ok else ExitCode.FAILURES)
