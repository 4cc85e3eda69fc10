"""The options that generators declare, as keys of their tables ``[generators.<name>]``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kagent_bench.config.keys import BY_NAME, Key, Kind
from kagent_bench.errors import PluginError, UsageError

if TYPE_CHECKING:
    from kagent_bench.hooks.entries import GeneratorEntry
    from kagent_bench.hooks.options import GeneratorOption

GENERATORS = "generators"
"""Section of the generators' own tables, whose keys belong to the generators."""

GeneratorKeys: TypeAlias = Mapping[str, tuple[Key, ...]]
"""By generator, those that declare options."""

NO_OPTIONS: GeneratorKeys = {}
_KINDS = {bool: Kind.SWITCH, int: Kind.WHOLE, float: Kind.NUMBER, str: Kind.TEXT}


def generator_keys(entries: Iterable[GeneratorEntry]) -> GeneratorKeys:
    """Return the keys of all generators that declare options.

    Raises:
        PluginError: an option is called as a setting, or two generators mean different things by one name.
    """
    found: dict[str, tuple[Key, ...]] = {}
    kinds: dict[str, tuple[str, Kind]] = {}
    for entry in entries:
        for option in entry.options:
            key = _key(entry.name, option)
            if option.name in BY_NAME:
                message = f"generator '{entry.name}' declares option {option.name}, which is a setting of kab"
                raise PluginError(message, hint="its author must give the option another name")
            owner, kind = kinds.setdefault(option.name, (entry.name, key.kind))
            if kind is not key.kind:
                message = f"option {option.name} is {kind.value} to generator '{owner}' and {key.kind.value} to '{entry.name}'"
                raise PluginError(message, hint="their authors must give it one type, or two names")
            found[entry.name] = (*found.get(entry.name, ()), key)
    return found


def defaults(entries: Iterable[GeneratorEntry]) -> dict[str, object]:
    """Return the declared defaults by path."""
    return {
        option_path(entry.name, option.name): option.default for entry in entries for option in entry.options
    }


def refuse_foreign_options(workflow: str, given: Iterable[str], entries: Iterable[GeneratorEntry]) -> None:
    """Check that the chosen generator takes the options that were given on the command line.

    Raises:
        UsageError: it does not, and would ignore them.
    """
    known = {entry.name: entry for entry in entries}
    chosen = known.get(workflow)
    if chosen is None or chosen.drives_others:
        return
    own = {option.name for option in chosen.options}
    for name in given:
        if name not in own:
            owners = [
                entry.name for entry in known.values() if any(option.name == name for option in entry.options)
            ]
            message = f"generator '{workflow}' (--workflow) has no option --{name.replace('_', '-')}"
            raise UsageError(message, hint=f"choose one that has it: {', '.join(owners)}")


def option_path(generator: str, option: str) -> str:
    """Return the path of an option among the settings; the option is what follows the last dot."""
    return f"{GENERATORS}.{generator}.{option}"


def _key(generator: str, option: GeneratorOption) -> Key:
    return Key(
        path=option_path(generator, option.name),
        kind=_KINDS[type(option.default)],
        flag=option.flag,
        minimum=option.minimum,
        pattern="|".join(map(re.escape, option.choices)) if option.choices else None,
        allowed=f"one of {', '.join(option.choices)}",
    )
