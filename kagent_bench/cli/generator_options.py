"""The options that generators declare, as options of the commands that generate."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from typer.main import get_command

from kagent_bench.config.generator_keys import GeneratorKeys, generator_keys
from kagent_bench.config.keys import Key, Kind
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.hooks.entries import GeneratorEntry
from kagent_bench.hooks.options import GeneratorOption

_META = "kagent_bench.generator_options"
"""Where a context keeps what was given."""
_TYPES = {Kind.TEXT: str, Kind.WHOLE: int, Kind.NUMBER: float, Kind.SWITCH: bool}
_METAVARS = {Kind.TEXT: "TEXT", Kind.WHOLE: "N", Kind.NUMBER: "NUMBER", Kind.SWITCH: None}


def add_generator_options(command: Any) -> None:
    """Give a command the declared options of all generators."""
    entries = build_catalog().generator_entries()
    by_flag = _by_flag(generator_keys(entries))
    if not by_flag:
        return
    # What a parameter of a command is differs between the versions of Typer, so Typer makes them, from a function.
    holder = typer.Typer(add_completion=False, rich_markup_mode=None)
    function: Any = lambda **_: None  # noqa: E731 - only its signature counts
    function.__signature__ = inspect.Signature([_parameter(keys, entries) for keys in by_flag.values()])
    function.__annotations__ = {
        name: item.annotation for name, item in function.__signature__.parameters.items()
    }
    holder.command("options")(function)
    made: Any = get_command(holder)
    declared = {keys[0].name for keys in by_flag.values()}
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params.extend(
        parameter
        for parameter in made.params
        if parameter.name in declared and not taken & set(parameter.opts)
    )


def given_options(context: typer.Context) -> dict[str, Any]:
    """Return the generators' options that were given to a command, by name."""
    found: dict[str, Any] = context.meta.get(_META, {})
    return found


def _by_flag(options: GeneratorKeys) -> dict[str | None, list[Key]]:
    found: dict[str | None, list[Key]] = {}
    for keys in options.values():
        for key in keys:
            found.setdefault(key.flag, []).append(key)
    return found


def _parameter(keys: list[Key], entries: tuple[GeneratorEntry, ...]) -> inspect.Parameter:
    key = keys[0]
    declared = [(entry, option) for entry in entries for option in entry.options if option.name == key.name]
    flag = str(key.flag)
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if key.kind is Kind.SWITCH else flag,
        metavar=_METAVARS[key.kind],
        help=" ".join(f"[{entry.name}] {_words(option)}" for entry, option in declared),
        show_default=False,
        expose_value=False,
        callback=_keep,
    )
    form: Any = _TYPES[key.kind]
    annotation: Any = Annotated[form | None, option]
    return inspect.Parameter(key.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _words(option: GeneratorOption) -> str:
    """Return what an option is for, what may be given, and what holds where nothing is."""
    choices = f"one of {', '.join(option.choices)}" if option.choices else ""
    default = f"default {option.default}" if option.default not in {"", False} else ""
    facts = "; ".join(part for part in (choices, default) if part)
    return f"{option.summary.rstrip('.')} ({facts})." if facts else option.summary


def _keep(context: typer.Context, parameter: typer.CallbackParam, value: Any) -> Any:
    if value is not None:
        context.meta.setdefault(_META, {})[str(parameter.name)] = value
    return value
