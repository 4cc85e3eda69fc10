"""``kab trace``: the operator calls of the user's model as a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kagent_bench.cli import options
from kagent_bench.cli.console import emit, emit_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("trace")(trace)


def trace(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="module:callable, a file with Model and get_inputs, or a script."
        ),
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENT]...", help="Arguments of a script.")
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", metavar="FILE", help="Trace to write: .txt (also .gz, .xz) or .parquet."),
    ] = Path("trace.txt"),
    name: Annotated[
        str,
        typer.Option("--name", metavar="NAME", show_default=False, help="What the trace calls the model."),
    ] = "",
    training: Annotated[bool, typer.Option("--training", help="Backward as well as forward.")] = False,
    execution: Annotated[
        str,
        typer.Option(
            "--execution", metavar="NAME", help="fake: no memory, no weights; real; or auto: fake if it can."
        ),
    ] = "auto",
    as_dtype: Annotated[
        str, typer.Option("--as-dtype", metavar="NAME", show_default=False, help="fp16, bf16, fp32 or fp64.")
    ] = "",
    as_json: options.AsJson = False,
    verbose: options.Verbose = False,
    quiet: options.Quiet = False,
) -> None:
    """Record the operator calls of a model as a suite.

    TARGET is a function that returns (model, arguments) or runs a model itself, a file of KernelBench, or a script
    that is run as it is. The trace is a suite: kab evaluate --suite-file FILE.
    """
    from kagent_bench.cli.progress import make_progress
    from kagent_bench.cli.words import trace_json, trace_words
    from kagent_bench.pipeline import trace as record

    progress = make_progress(verbose=verbose, quiet=quiet)
    recording = record(
        target,
        output,
        progress,
        arguments=tuple(arguments or ()),
        name=name,
        training=training,
        execution=execution,
        as_dtype=as_dtype,
    )
    emit_json(trace_json(recording, output)) if as_json else emit(trace_words(recording, output))
