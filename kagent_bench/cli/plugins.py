"""``kab plugins``: what is installed, whose it is, and what could not be loaded."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import columns, emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plugins")(plugins)


def plugins(
    context: typer.Context,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """List the installed plugins.

    With kind, names, owner and version; those that could not be loaded are named too.
    """
    from kagent_bench.cli.invocation import invocation

    with invocation(context) as call:
        catalog = call.catalog
    if as_json:
        emit_json(
            {
                "plugins": [item.to_json() for item in catalog.plugins],
                "failures": [failure.to_json() for failure in catalog.failures],
            }
        )
        return
    rows = [("plugin", "kind", "names", "distribution", "version")]
    for item in catalog.plugins:
        owner = item.owner
        rows.extend(
            (owner.plugin, kind, ", ".join(names), owner.distribution, owner.version)
            for kind, names in item.offers.items()
        )
    rows.extend(
        (failure.owner.plugin, "left out", "-", failure.owner.distribution, failure.owner.version)
        for failure in catalog.failures
    )
    emit(columns(rows, indent=""))
