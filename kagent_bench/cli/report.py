"""``kab report``: a stored run in a chosen format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagent_bench.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    context: typer.Context,
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN_DIR]", show_default=False, help="Folder of the run; default the latest."
        ),
    ] = None,
    run_dir: options.RunDir = None,
    format_name: options.FormatName = None,
    output: options.OutputFile = None,
    cases: options.WithCases = False,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Report a stored run.

    Needs neither torch nor a device. The exit code is that of the verdicts.
    """
    from kagent_bench import pipeline
    from kagent_bench.cli.chosen import chosen_format, chosen_run
    from kagent_bench.cli.console import deliver
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.cli.verdict import exit_code

    with invocation(context) as call:
        name = chosen_format(format_name, as_json=as_json)
        report_format = call.catalog.report_formats.load(name, asked_by="--format")
        summary = pipeline.report(chosen_run(run, run_dir, call.resolved))
        text = report_format.render(summary, cases=cases)
    deliver(text, output)
    raise typer.Exit(exit_code(summary))
