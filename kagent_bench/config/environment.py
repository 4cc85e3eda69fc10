"""The one module that reads the environment of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kagent_bench.config.generator_keys import NO_OPTIONS, GeneratorKeys
from kagent_bench.config.keys import BY_VARIABLE, ENVIRONMENT_PREFIX
from kagent_bench.config.load import Layer, spread
from kagent_bench.config.values import from_text, near
from kagent_bench.errors import ConfigError

CONFIG_VARIABLE = "KAB_CONFIG"
"""Names a configuration file, as ``--config`` does."""


def variable(name: str) -> str | None:
    """Return a variable's value, None where it is unset or empty."""
    return os.environ.get(name) or None


def process_environment() -> dict[str, str]:
    """Return a copy of this process's environment, for those who choose what a child process gets of it."""
    return dict(os.environ)


def cache_root() -> Path:
    """Return the user's cache folder: ``XDG_CACHE_HOME``, else ``~/.cache``."""
    given = variable("XDG_CACHE_HOME")
    return Path(given) if given else Path.home() / ".cache"


def environment_layer(environ: Mapping[str, str] | None = None, options: GeneratorKeys = NO_OPTIONS) -> Layer:
    """Read the settings that ``KAB_*`` variables give; an empty one counts as unset.

    Args:
        environ: the environment; None for that of this process.
        options: what the generators declare.

    Raises:
        ConfigError: an unknown ``KAB_`` variable, or a value that cannot be used.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, text in sorted((os.environ if environ is None else environ).items()):
        if not name.startswith(ENVIRONMENT_PREFIX) or name == CONFIG_VARIABLE or not text:
            continue
        declared = [key for keys in options.values() for key in keys if key.variable == name]
        keys = [BY_VARIABLE[name]] if name in BY_VARIABLE else declared
        if not keys:
            message = f"unknown environment variable {name}"
            others = [key.variable for keys in options.values() for key in keys]
            raise ConfigError(message, hint=near(name, [*BY_VARIABLE, *others, CONFIG_VARIABLE]))
        found: dict[str, Any] = {}
        for key in keys:
            found |= spread(key.path, from_text(key, text, f"environment variable {name}"))
        values.update(found)
        origins.update(dict.fromkeys(found, f"env:{name}"))
    return Layer(values=values, origins=origins)


def config_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the configuration file that ``KAB_CONFIG`` names, if any."""
    text = (os.environ if environ is None else environ).get(CONFIG_VARIABLE)
    return Path(text) if text else None
