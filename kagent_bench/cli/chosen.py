"""Options that can be given in two ways: one value comes out, or a usage error."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.cli.verdict import DEFAULT_FORMAT
from kagent_bench.errors import UsageError

if TYPE_CHECKING:
    from kagent_bench.config.resolve import ResolvedSettings

_JSON = "json"


def chosen_format(name: str | None, *, as_json: bool) -> str:
    """Return the report format.

    Raises:
        UsageError: ``--json`` with another format.
    """
    if as_json and name not in {None, _JSON}:
        message = f"options --json and --format {name} contradict each other"
        raise UsageError(message, hint="give one of them")
    return _JSON if as_json else name or DEFAULT_FORMAT


def chosen_run(argument: Path | None, option: Path | None, resolved: ResolvedSettings) -> Path | None:
    """Return the run folder to report; None for the latest.

    Raises:
        UsageError: the argument and the option name different folders.
    """
    if argument is not None and option is not None and argument.absolute() != option.absolute():
        message = f"argument '{argument}' and option --run-dir '{option}' contradict each other"
        raise UsageError(message, hint="name one run folder")
    return argument or resolved.settings.run_dir
