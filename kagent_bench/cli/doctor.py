"""``kab doctor``: what this machine can judge."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(
    context: typer.Context,
    device: options.Device = None,
    measure: options.Measure = False,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Say what this machine can judge.

    Device, versions, containment, and what can and cannot be judged here.
    """
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.evaluate.doctor import examine, measure_device
    from kagent_bench.report.units import rates

    with invocation(context) as call:
        if measure:
            name, figures = measure_device(call.resolved)
            emit_json({"device": name, **figures}) if as_json else emit(f"{name}: {rates(figures)}")
            return
        found = examine(call.resolved)
    if as_json:
        emit_json(found.to_json())
    else:
        emit("\n".join(found.lines()))
