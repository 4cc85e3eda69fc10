"""What every command does first: read its options into settings, build the catalog, open the progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from kagent_bench.cli.console import say
from kagent_bench.cli.generator_options import given_options
from kagent_bench.cli.progress import make_progress
from kagent_bench.cli.selection_options import given_selection
from kagent_bench.config.generator_keys import generator_keys, refuse_foreign_options
from kagent_bench.config.keys import BY_NAME, Kind
from kagent_bench.config.resolve import ResolvedSettings, flag_layer, resolve
from kagent_bench.config.values import split_names, split_tolerances
from kagent_bench.errors import UsageError
from kagent_bench.hooks.catalog import Catalog, build_catalog
from kagent_bench.model.progress import Progress

_SHOW = "show"
"""The command that shows settings and uses none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One run of a command."""

    resolved: ResolvedSettings
    catalog: Catalog
    progress: Progress
    command: tuple[str, ...]
    """The command line, to reproduce the run."""


@contextmanager
def invocation(context: typer.Context) -> Iterator[Invocation]:
    """Read the options of a command; at the end, whatever happened, close the progress.

    Raises:
        UsageError: options contradict each other, or a value cannot be used.
        PluginError: one of our own plugins is broken.
    """
    given = context.params
    verbose, quiet = bool(given.get("verbose")), bool(given.get("quiet"))
    if verbose and quiet:
        message = "options --verbose and --quiet contradict each other"
        raise UsageError(message, hint="give at most one of them")
    progress = make_progress(verbose=verbose, quiet=quiet)
    catalog = build_catalog()
    entries = catalog.generator_entries()
    own = given_options(context)
    layer = flag_layer(flags(given | given_selection(context)) | own, generator_keys(entries))
    resolved = resolve(layer, config=_path(given.get("config")), generators=entries)
    if context.info_name != _SHOW:
        refuse_foreign_options(resolved.settings.generate.workflow, own, entries)
    for failure in catalog.failures:
        progress.warn(f"{failure.owner} is left out: {failure.error}")
    try:
        yield Invocation(
            resolved=resolved, catalog=catalog, progress=progress, command=("kab", *sys.argv[1:])
        )
    finally:
        progress.finish()


def flags(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among a command's parameters that were given, by the setting's name.

    Raises:
        UsageError: a list option names nothing, or one option has two values.
    """
    found: dict[str, Any] = {}
    for name, value in params.items():
        key = BY_NAME.get(name)
        if key is None or value is None or (isinstance(value, list | tuple) and not value):
            continue
        if key.kind is Kind.NAMES:
            found[name] = split_names(value)
            if not found[name]:
                message = f"option {key.flag} names nothing"
                raise UsageError(message, hint="leave the option out to take everything")
        elif key.kind is Kind.TOLERANCE:
            found[name] = split_tolerances(value, f"option {key.flag}")
        elif isinstance(value, list | tuple):
            found[name] = one_of([Path(item) for item in value], "--base-dir (also --kernels-dir)")
        else:
            found[name] = value
    return found


def one_of(paths: list[Path], option: str) -> Path:
    """Return the one folder that was given, perhaps repeatedly.

    Raises:
        UsageError: there are different ones.
    """
    if len({path.absolute() for path in paths}) > 1:
        shown = " and ".join(f"'{path}'" for path in paths)
        message = f"option {option} has contradictory values: {shown}"
        raise UsageError(message, hint="name one folder")
    return paths[0]


def finish(code: int, *, told: str = "") -> None:
    """End the command with an exit code, after a last message to the user.

    Raises:
        typer.Exit: always.
    """
    if told:
        say(told)
    raise typer.Exit(code)


def _path(value: object) -> Path | None:
    return None if value is None else Path(str(value))
