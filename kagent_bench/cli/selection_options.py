"""The options that choose among a suite's cases, the same for every command that has a selection."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.main import get_command

from kagent_bench.hooks.catalog import build_catalog

_META = "kagent_bench.selection_options"
"""Where a context keeps what was given."""


def _keep(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Keep what was given: the commands do not name these options among their own."""
    if value is not None and value not in ((), []):
        ctx.meta.setdefault(_META, {})[param.name] = value
    return value


def _option(flag: str, metavar: str, summary: str) -> Any:
    return typer.Option(
        flag, metavar=metavar, help=summary, show_default=False, expose_value=False, callback=_keep
    )


def add_selection_options(command: Any) -> None:
    """Give a command the options, and name the installed dtype filters in the help of ``--dtype``."""
    for parameter in command.params:
        if parameter.name == "dtype":
            filters = ", ".join(build_catalog().dtype_filters.names())
            parameter.help = f"{parameter.help} Known: {filters}."
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    holder.command()(_selection)
    known = {parameter.name for parameter in command.params}
    made: Any = get_command(holder)
    command.params += [
        parameter
        for parameter in made.params
        if parameter.name not in known and "--help" not in parameter.opts
    ]


def given_selection(context: Any) -> dict[str, Any]:
    """Return the options that were given to a command, by the setting's name."""
    found: dict[str, Any] = context.meta.get(_META, {})
    return found


def _selection(
    suite_file: Annotated[
        list[str] | None,
        _option(
            "--suite-file",
            "PATH",
            "Trace file (.txt, .parquet) or folder of them as the suite; for kernelbench problem files, or module:Class; may be repeated.",
        ),
    ] = None,
    as_dtype: Annotated[
        str | None,
        _option("--as-dtype", "NAME", "Change cases to fp16, bf16, fp32 or fp64 first; indices stay."),
    ] = None,
    kind: Annotated[
        list[str] | None, _option("--kind", "A,B", "Only operators that are judged so, as value or view.")
    ] = None,
    traced_model: Annotated[
        list[str] | None,
        _option("--traced-model", "A,B", "Only calls that these models of a trace make; * is anything."),
    ] = None,
    min_count: Annotated[
        int | None, _option("--min-count", "N", "Only calls that were recorded at least so often.")
    ] = None,
    min_bytes: Annotated[
        int | None, _option("--min-bytes", "N", "Only cases with at least so many bytes of inputs.")
    ] = None,
    max_bytes: Annotated[
        int | None, _option("--max-bytes", "N", "Only cases with at most so many bytes of inputs; 0 for all.")
    ] = None,
    top_n: Annotated[
        int | None, _option("--top-n", "N", "Only the N largest cases of each operator, by bytes of inputs.")
    ] = None,
    sample: Annotated[
        int | None, _option("--sample", "N", "Only N cases of the whole selection, drawn by the seed.")
    ] = None,
    sample_seed: Annotated[int | None, _option("--sample-seed", "N", "Which cases --sample draws.")] = None,
    split: Annotated[
        str | None,
        _option("--split", "NAME", "development cases, which generators see, held_out ones, or all."),
    ] = None,
) -> None:
    """Declare the options, by the settings' names; never called."""
