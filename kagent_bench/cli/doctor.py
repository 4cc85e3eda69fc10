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
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Say what this machine can judge.

    Device, versions, containment, and what can and cannot be judged here.
    """
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.evaluate.doctor import examine

    with invocation(context) as call:
        found = examine(call.resolved)
    if as_json:
        emit_json(found.to_json())
    else:
        emit("\n".join(found.lines()))
