"""The options that generators declare, as options of the commands that generate."""

from __future__ import annotations

from typing import Any

from typer.core import TyperOption

from kagent_bench.config.generator_keys import GeneratorKeys, generator_keys
from kagent_bench.config.keys import Key, Kind
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.hooks.entries import GeneratorEntry

_META = "kagent_bench.generator_options"
"""Where a context keeps what was given."""
_TYPES = {Kind.TEXT: str, Kind.WHOLE: int, Kind.NUMBER: float, Kind.SWITCH: bool}


def add_generator_options(command: Any) -> None:
    """Give a command the declared options of all generators."""
    entries = build_catalog().generator_entries()
    taken = {name for parameter in command.params for name in parameter.opts}
    for keys in _by_flag(generator_keys(entries)).values():
        if keys[0].flag not in taken:
            command.params.append(_option(keys, entries))


def given_options(context: Any) -> dict[str, Any]:
    """Return the generators' options that were given to a command, by name."""
    found: dict[str, Any] = context.meta.get(_META, {})
    return found


def _by_flag(options: GeneratorKeys) -> dict[str | None, list[Key]]:
    found: dict[str | None, list[Key]] = {}
    for keys in options.values():
        for key in keys:
            found.setdefault(key.flag, []).append(key)
    return found


def _option(keys: list[Key], entries: tuple[GeneratorEntry, ...]) -> Any:
    key = keys[0]
    switch = key.kind is Kind.SWITCH
    owners = [entry for entry in entries if any(key.name == option.name for option in entry.options)]
    summary = next(option.summary for option in owners[0].options if option.name == key.name)
    flag = str(key.flag)
    make: Any = TyperOption  # Typer vendors Click from 0.26 on, and names its parameters in stubs only before
    return make(
        param_decls=[f"{flag}/--no-{flag[2:]}" if switch else flag, key.name],
        type=_TYPES[key.kind],
        default=None,
        metavar=None if switch else {Kind.TEXT: "TEXT", Kind.WHOLE: "N"}.get(key.kind, "NUMBER"),
        help=f"[{', '.join(owner.name for owner in owners)}] {summary}",
        show_default=False,
        expose_value=False,
        callback=_keep,
    )


def _keep(context: Any, parameter: Any, value: Any) -> Any:
    if value is not None:
        context.meta.setdefault(_META, {})[parameter.name] = value
    return value
