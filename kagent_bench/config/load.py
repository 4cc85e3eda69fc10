"""Turns a configuration file into a layer of settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kagent_bench.config.files import read_toml
from kagent_bench.config.generator_keys import GENERATORS, NO_OPTIONS, GeneratorKeys, option_path
from kagent_bench.config.keys import BY_PATH, Kind
from kagent_bench.config.values import near, typed
from kagent_bench.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """Some settings, each with the place it was given."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """By path; a tolerance is one value per dtype: ``tolerance.float16``."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Origin of each value, as ``file:kab.toml``."""


def load_settings(path: Path, options: GeneratorKeys = NO_OPTIONS) -> Layer:
    """Read a configuration file.

    Args:
        path: The file.
        options: What the generators declare; the table of one that declares nothing is not checked.

    Raises:
        ConfigError: the file cannot be read, has an unknown key, or a value of the wrong type.
    """
    values: dict[str, Any] = {}
    _walk(read_toml(path), "", values, path, options)
    return Layer(values=values, origins=dict.fromkeys(values, f"file:{path}"))


def load_suite(path: Path, suite: str) -> Layer:
    """Read the settings of one suite from ``suites.toml``: tables ``[<suite>.tolerance]``.

    Raises:
        ConfigError: the file cannot be read, has an unknown key, or a value of the wrong type.
    """
    found: dict[str, Any] = {}
    for name, table in read_toml(path).items():
        if not isinstance(table, Mapping):
            message = f"file {path}, key {name}: must be a table"
            raise ConfigError(message, hint=f"write [{name}.tolerance]")
        for key, value in table.items():
            if key != "tolerance":
                message = f"file {path}: unknown key '{name}.{key}'"
                raise ConfigError(message, hint="a suite can have: tolerance")
            checked = typed(BY_PATH["tolerance"], value, f"file {path}, key {name}.tolerance")
            if name == suite:
                found = spread("tolerance", checked)
    return Layer(values=found, origins=dict.fromkeys(found, f"suite:{suite} ({path})"))


def spread(path: str, value: object) -> dict[str, Any]:
    """Return a value by path; one with a key per dtype becomes several, so that layers merge per dtype."""
    key = BY_PATH.get(path)
    if key is not None and key.kind is Kind.TOLERANCE and isinstance(value, Mapping):
        return {f"{path}.{dtype}": factor for dtype, factor in value.items()}
    return {path: value}


def _walk(
    table: Mapping[str, Any], prefix: str, values: dict[str, Any], path: Path, options: GeneratorKeys
) -> None:
    sections = {known.partition(".")[0] for known in BY_PATH if "." in known}
    for name, value in table.items():
        full = prefix + name
        where = f"file {path}, key {full}"
        if full == GENERATORS:
            values.update(_generators(value, path, options))
        elif full in BY_PATH:
            values.update(spread(full, typed(BY_PATH[full], value, where)))
        elif full in sections and isinstance(value, Mapping):
            _walk(value, f"{full}.", values, path, options)
        elif full in sections:
            message = f"{where}: must be a table"
            raise ConfigError(message, hint=f"write [{full}]")
        else:
            message = f"file {path}: unknown key '{full}'"
            raise ConfigError(message, hint=near(full, [*BY_PATH, GENERATORS]))


def _generators(tables: object, path: Path, options: GeneratorKeys) -> dict[str, Any]:
    where = f"file {path}, key {GENERATORS}"
    if not isinstance(tables, Mapping):
        message = f"{where}: must be a table"
        raise ConfigError(message, hint="write [generators.<name>]")
    found: dict[str, Any] = {}
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            message = f"{where}.{name}: must be a table"
            raise ConfigError(message, hint=f"write [generators.{name}]")
        known = {key.name: key for key in options.get(name, ())}
        for option, value in table.items():
            full = option_path(name, option)
            if known and option not in known:
                message = f"file {path}: unknown key '{full}'"
                raise ConfigError(message, hint=near(option, known))
            found[full] = typed(known[option], value, f"file {path}, key {full}") if known else value
    return found
