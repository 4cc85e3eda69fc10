"""Finds the shipped configuration files and reads TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kagent_bench.errors import ConfigError, HarnessFault

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PACKAGE = Path(__file__).resolve().parent.parent


def configs_dir() -> Path:
    """Return the folder of the shipped configuration files: the package's data, else the checkout's.

    Raises:
        HarnessFault: there is neither.
    """
    for folder in (_PACKAGE / "configs", _PACKAGE.parent / "configs"):
        if (folder / "kab.toml").is_file():
            return folder
    message = f"the folder 'configs' is neither in {_PACKAGE} nor beside it"
    raise HarnessFault(message, hint="the installation is damaged: install kagent-bench again")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises:
        ConfigError: the file cannot be read, or is not TOML.
    """
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"configuration file {path} cannot be read: {error.strerror}"
        raise ConfigError(
            message, hint="give an existing TOML file; kab config show tells which are used"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"configuration file {path} is not TOML: {error}"
        raise ConfigError(message, hint="see configs/kab.toml for an example") from error
    return table
