"""Commands that a reader can paste: the whole run again, or one failing case."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from kagent_bench.config.keys import BY_PATH, KEYS, Kind

_ALWAYS = ("base_dir", "selection.suite")
"""Settings that are spelled out even where they have their default, so that the command stands alone."""
_NOT_FOR_ONE_CASE = frozenset({"run_dir", "num_workers", "selection.ops", "selection.num_operators"})
"""Settings that a single case does not need, that contradict ``--case``, or that are given apart."""


def run_command(run: Mapping[str, Any]) -> str:
    """Return the command line of a run: the one that started it, or one with the same settings."""
    if run["command"]:
        return shlex.join(run["command"])
    return shlex.join(["kab", "evaluate", *_flags(run, leave_out=frozenset({"run_dir"}))])


def case_command(run: Mapping[str, Any], case_id: str) -> str:
    """Return the command line that judges one case again, with the inputs of the run."""
    flags = _flags(run, leave_out=_NOT_FOR_ONE_CASE)
    return shlex.join(["kab", "evaluate", "--case", case_id, "--run-dir", run["folder"], *flags])


def _flags(run: Mapping[str, Any], *, leave_out: frozenset[str]) -> Iterator[str]:
    """Yield the flags of all evaluation settings that somebody chose."""
    origins = run["origins"]
    for key in KEYS:
        if key.flag is None or key.path in leave_out or key.path.startswith("generate."):
            continue
        if key.kind is Kind.TOLERANCE:
            for dtype, factor in sorted((_value(run["settings"], key.path) or {}).items()):
                if _chosen(origins.get(f"{key.path}.{dtype}", "default")):
                    yield from (key.flag, f"{dtype}={factor}")
        elif key.path in _ALWAYS or _chosen(origins.get(key.path, "default")):
            yield from _flag(key.path, key.flag, _value(run["settings"], key.path))


def _chosen(origin: str) -> bool:
    return origin != "default" and not origin.startswith("suite:")


def _flag(path: str, flag: str, value: object) -> Iterator[str]:
    if value is None:
        return
    if BY_PATH[path].kind is Kind.SWITCH:
        if value:
            yield flag
    elif isinstance(value, list | tuple):
        if value:
            yield from (flag, ",".join(str(item) for item in value))
    else:
        yield from (flag, str(value))


def _value(settings: Mapping[str, Any], path: str) -> Any:
    found: Any = settings
    for part in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found
