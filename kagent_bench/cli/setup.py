"""``kab setup``: operator folders with problem statements and tests."""

from __future__ import annotations

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("setup")(setup)


def setup(
    context: typer.Context,
    base_dir: options.BaseDir = None,
    suite: options.Suite = None,
    ops: options.Ops = None,
    dtype: options.Dtype = None,
    num_operators: options.NumOperators = None,
    cases_per_operator: options.CasesPerOperator = None,
    tolerance: options.Tolerance = None,
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Write problem statements and tests.

    One folder per operator; what is up to date stays as it is, and no kernel is ever touched.
    """
    from kagent_bench import pipeline
    from kagent_bench.cli.invocation import invocation
    from kagent_bench.cli.words import setup_words

    with invocation(context) as call:
        result = pipeline.setup(call.resolved, call.catalog, call.progress)
    emit_json(result.to_json()) if as_json else emit(setup_words(result))
