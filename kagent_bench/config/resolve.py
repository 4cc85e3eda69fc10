"""Resolves the settings: default < suite (tolerances) < file < environment < flag, each with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import config_file, environment_layer
from kagent_bench.config.files import configs_dir
from kagent_bench.config.generator_keys import GENERATORS, NO_OPTIONS, GeneratorKeys, generator_keys
from kagent_bench.config.generator_keys import defaults as option_defaults
from kagent_bench.config.keys import BY_NAME, Key
from kagent_bench.config.load import Layer, load_settings, load_suite, spread
from kagent_bench.config.schema import EvaluateSettings, GenerateSettings, SelectionSettings, Settings
from kagent_bench.config.values import near, typed
from kagent_bench.errors import ConfigError

if TYPE_CHECKING:
    from kagent_bench.hooks.entries import GeneratorEntry

DEFAULTS_FILE = "kab.toml"
"""Shipped file of all settings; where it still says what the schema says, a value's origin is ``default``."""
SUITES_FILE = "suites.toml"
"""Shipped file of the suites' own tolerances."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSettings:
    """The settings of one run, with the origin of each."""

    settings: Settings
    origins: Mapping[str, str]
    """By path: ``default``, ``file:PATH``, ``env:KAB_X``, ``flag:--x``, ``argument:x`` or ``suite:NAME (PATH)``."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, which is stored with each run."""
        return {"settings": settings_to_json(self.settings), "origins": dict(self.origins)}


def settings_to_json(settings: Settings) -> dict[str, Any]:
    """Return the JSON form of settings, nested as in a configuration file."""
    data = asdict(settings)
    data["base_dir"] = str(settings.base_dir)
    data["run_dir"] = None if settings.run_dir is None else str(settings.run_dir)
    for section in ("selection", "evaluate"):
        for name, value in data[section].items():
            if isinstance(value, tuple):
                data[section][name] = list(value)
    return data


def flag_layer(given: Mapping[str, object], options: GeneratorKeys = NO_OPTIONS) -> Layer:
    """Return the settings that flags of the command line give.

    Args:
        given: values by the name of the setting or of the generators' option, as ``case_timeout_s``.
        options: what the generators declare.

    Raises:
        ConfigError: a value that cannot be used.
    """
    return _given_layer(given, {name: f"flag:{_keys(name, options)[0].flag}" for name in given}, options)


def argument_layer(given: Mapping[str, object], options: GeneratorKeys = NO_OPTIONS) -> Layer:
    """Return the settings that a caller of the Python API gives.

    Args:
        given: values by the name of the setting or of the generators' option, as ``case_timeout_s``; None
            counts as not given.
        options: what the generators declare.

    Raises:
        ConfigError: an unknown name, or a value that cannot be used.
    """
    known = {name: value for name, value in given.items() if value is not None}
    for name in known:
        if not _keys(name, options):
            message = f"unknown setting '{name}'"
            declared = [key.name for keys in options.values() for key in keys]
            raise ConfigError(message, hint=near(name, [*BY_NAME, *declared]))
    return _given_layer(known, {name: f"argument:{name}" for name in known}, options)


def resolve(
    given: Layer | None = None,
    *,
    config: Path | None = None,
    environ: Mapping[str, str] | None = None,
    generators: Iterable[GeneratorEntry] = (),
) -> ResolvedSettings:
    """Merge all layers.

    Args:
        given: what flags or arguments give, over everything else.
        config: a configuration file, in the place of the shipped one; None for ``KAB_CONFIG`` or the shipped one.
        environ: the environment; None for that of this process.
        generators: the entries whose declared options have defaults, and are checked.

    Raises:
        ConfigError: a layer has an unknown key or a value that cannot be used.
    """
    file = config or config_file(environ)
    entries = tuple(generators)
    options = generator_keys(entries)
    layers = [
        load_settings(file, options) if file else _shipped(options),
        environment_layer(environ, options),
        given or Layer(),
    ]
    suite = SelectionSettings().suite
    for layer in layers:
        suite = layer.values.get("selection.suite", suite)
    layers.insert(0, load_suite(configs_dir() / SUITES_FILE, suite))
    values = _defaults() | option_defaults(entries)
    origins = dict.fromkeys(values, "default")
    for layer in layers:
        values.update(layer.values)
        origins.update(layer.origins)
    return ResolvedSettings(settings=_build(values), origins=origins)


def _given_layer(given: Mapping[str, object], origin: Mapping[str, str], options: GeneratorKeys) -> Layer:
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, value in given.items():
        kind, _, shown = origin[name].partition(":")
        where = f"option {shown}" if kind == "flag" else f"{kind} {shown}"
        for key in _keys(name, options):
            found = spread(key.path, typed(key, value, where))
            values.update(found)
            origins.update(dict.fromkeys(found, origin[name]))
    return Layer(values=values, origins=origins)


def _keys(name: str, options: GeneratorKeys) -> list[Key]:
    """Return the setting of a name, or the options of that name of all generators."""
    if name in BY_NAME:
        return [BY_NAME[name]]
    return [key for keys in options.values() for key in keys if key.name == name]


def _defaults() -> dict[str, Any]:
    values: dict[str, Any] = {}
    settings = Settings()
    for item in fields(settings):
        value = getattr(settings, item.name)
        if is_dataclass(value):
            values.update({f"{item.name}.{leaf.name}": getattr(value, leaf.name) for leaf in fields(value)})
        elif item.name not in {"tolerance", GENERATORS}:
            values[item.name] = value
    return values


def _shipped(options: GeneratorKeys) -> Layer:
    """Return the shipped file's settings that differ from the schema's: an edited file is an origin."""
    layer = load_settings(configs_dir() / DEFAULTS_FILE, options)
    defaults = _defaults()
    changed = {path: value for path, value in layer.values.items() if defaults.get(path, ...) != value}
    return Layer(values=changed, origins={path: layer.origins[path] for path in changed})


def _build(values: Mapping[str, Any]) -> Settings:
    def section(name: str) -> dict[str, Any]:
        start = f"{name}."
        return {path[len(start) :]: value for path, value in values.items() if path.startswith(start)}

    return Settings(
        base_dir=values["base_dir"],
        run_dir=values["run_dir"],
        num_workers=values["num_workers"],
        selection=SelectionSettings(**section("selection")),
        generate=GenerateSettings(**section("generate")),
        evaluate=EvaluateSettings(**section("evaluate")),
        tolerance=section("tolerance"),
        generators=_tables(section(GENERATORS)),
    )


def _tables(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the generators' tables from values by ``<generator>.<option>``."""
    tables: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        generator, _, option = path.rpartition(".")
        tables.setdefault(generator, {})[option] = value
    return tables
