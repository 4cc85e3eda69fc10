"""Turns what a file, a variable, a flag or a caller gives into a setting's type, or says why it cannot."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kagent_bench.config.keys import TOLERANCE_DTYPES, Key, Kind
from kagent_bench.errors import ConfigError

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


def typed(key: Key, value: object, where: str) -> Any:
    """Check a value that has a type: from a file, a parsed flag or the Python API.

    Args:
        key: the setting.
        value: what was given.
        where: the place, for the message, as ``file kab.toml, key evaluate.rounds``.

    Raises:
        ConfigError: wrong type, or not allowed.
    """
    result = _FORMS[key.kind](value, where)
    if result is None:
        message = f"{where}: {value!r} is not {key.kind.value}"
        raise ConfigError(message, hint=_hint(key))
    complaint = key.complaint(result)
    if complaint:
        message = f"{where}: {value!r} {complaint}"
        raise ConfigError(message, hint=_hint(key))
    return result


def from_text(key: Key, text: str, where: str) -> Any:
    """Read a value from an environment variable: lists with commas, tolerances as ``DTYPE=VALUE,...``.

    Raises:
        ConfigError: wrong form, or not allowed.
    """
    value: object = text
    if key.kind in {Kind.WHOLE, Kind.NUMBER}:
        value = number(text)
    elif key.kind is Kind.SWITCH:
        word = text.strip().lower()
        value = word in _TRUE if word in _TRUE | _FALSE else text
    elif key.kind is Kind.NAMES:
        value = split_names([text])
    elif key.kind is Kind.TOLERANCE:
        value = split_tolerances([text], where)
    if value is None:
        value = text
    return typed(key, value, where)


def number(text: str) -> int | float | None:
    """Return the number that a text holds, an integer where it is written as one, or None."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def split_names(texts: Iterable[str]) -> list[str]:
    """Split lists with commas outside of brackets, drop blanks and repetitions, keep the order."""
    names: list[str] = []
    for text in texts:
        depth, start = 0, 0
        for place, letter in enumerate(f"{text},"):
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and (depth <= 0 or place == len(text)):
                names.append(text[start:place].strip())
                start = place + 1
    return list(dict.fromkeys(name for name in names if name))


def split_tolerances(texts: Iterable[str], where: str) -> dict[str, object]:
    """Read ``DTYPE=VALUE`` items.

    Raises:
        ConfigError: an item has no such form, or a dtype comes twice.
    """
    found: dict[str, object] = {}
    for item in split_names(texts):
        dtype, equals, value = item.partition("=")
        if not equals or number(value) is None:
            message = f"{where}: {item!r} is not DTYPE=VALUE"
            raise ConfigError(message, hint="write for example float16=4e-3")
        if dtype in found:
            message = f"{where}: {dtype} is given twice, with different values"
            raise ConfigError(message, hint="give each dtype once")
        found[dtype] = number(value)
    return found


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known names, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    return f"near matches: {', '.join(close)}" if close else f"known: {', '.join(names)}"


def _hint(key: Key) -> str:
    ways = [f"key {key.path}", f"variable {key.variable}"]
    if key.flag:
        ways.append(f"option {key.flag}")
    return f"this setting can be given as {', '.join(ways)}; see kab config show"


def _text(value: object, where: str) -> str | None:
    del where
    return value if isinstance(value, str) else None


def _names(value: object, where: str) -> tuple[str, ...] | None:
    del where
    if isinstance(value, str) or not isinstance(value, Iterable):
        return None
    items = list(value)
    return tuple(items) if all(isinstance(item, str) and item.strip() for item in items) else None


def _whole(value: object, where: str) -> int | None:
    del where
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object, where: str) -> float | None:
    del where
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return None
    return float(value)


def _switch(value: object, where: str) -> bool | None:
    del where
    return value if isinstance(value, bool) else None


def _folder(value: object, where: str) -> Path | None:
    del where
    if isinstance(value, str | os.PathLike) and str(value).strip():
        return Path(value)
    return None


def _tolerance(value: object, where: str) -> dict[str, float] | None:
    if not isinstance(value, Mapping):
        return None
    result: dict[str, float] = {}
    for dtype, factor in value.items():
        if dtype not in TOLERANCE_DTYPES:
            message = f"{where}: there is no tolerance for dtype {dtype!r}"
            raise ConfigError(message, hint=near(str(dtype), TOLERANCE_DTYPES))
        checked = _number(factor, where)
        if checked is None or not 0 < checked < math.inf:
            message = f"{where}: {factor!r} is no tolerance for {dtype}"
            raise ConfigError(message, hint="a tolerance is a finite number greater than 0, such as 1e-5")
        result[dtype] = checked
    return result


_FORMS: Mapping[Kind, Callable[[object, str], Any]] = {
    Kind.TEXT: _text,
    Kind.NAMES: _names,
    Kind.WHOLE: _whole,
    Kind.NUMBER: _number,
    Kind.SWITCH: _switch,
    Kind.FOLDER: _folder,
    Kind.TOLERANCE: _tolerance,
}
