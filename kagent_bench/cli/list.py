"""``kab list``: what can be chosen by name, and the operators and cases of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_names)


def list_names(
    context: typer.Context,
    suite: options.Suite = None,
    ops: options.Ops = None,
    dtype: options.Dtype = None,
    num_operators: options.NumOperators = None,
    cases_per_operator: options.CasesPerOperator = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="List the cases as well, with their origin.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="FILE",
            show_default=False,
            help="Write the selected cases as a trace: .txt (also .gz, .xz) or .parquet.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try each case in eager PyTorch, and mark what is weak about it."),
    ] = False,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """List names, operators and cases.

    Alone: everything that can be chosen by name. With --suite, --ops, --dtype or --cases: the suite's operators.
    """
    from kagent_bench.cli import listing
    from kagent_bench.cli.invocation import flags, invocation
    from kagent_bench.cli.selection_options import given_selection
    from kagent_bench.pipeline import check_cases, choose
    from kagent_bench.suites.trace.export import export as write_cases

    with invocation(context) as call:
        if not flags(context.params | given_selection(context)) and not (cases or check or export):
            names = listing.names_json(call.catalog)
            emit_json(names) if as_json else emit(listing.names_words(names))
            return
        selection = choose(call.resolved, call.catalog, call.progress)
        if export is not None:
            call.progress.tell(f"{write_cases(selection, export)} calls written to {export}")
        checks = check_cases(selection, call.progress) if check else None
    found = listing.operators_json(selection, cases=cases or check, checks=checks)
    emit_json(found) if as_json else emit(listing.operators_words(found))
