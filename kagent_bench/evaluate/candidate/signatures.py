"""How a launch is told from another one: the types of its arguments, and the values of those known at compile time.

The interpreter's launches are named like this so that the compile check need not be repeated for launches of the same
kind. A name from inside a candidate is evidence: it chooses what is checked, never what comes out.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

MAX_DEPTH = 4
"""Nesting of tuples that is looked into; deeper ones are alike."""
DIGEST_CHARACTERS = 16
"""64 bits: enough to tell the launches of one file."""
_BRANCHING = (bool, str, type(None))
"""Types of compile time values that choose between branches, and so belong to the kind of a launch."""


def launch_kind(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str, str, str]:
    """Return a kernel's name, a digest of the types of a launch, and one of its compile time values as well."""
    names, constants = _parameters(function)
    types: list[str] = []
    values: list[str] = []
    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        constant = name in constants or name not in names
        for kind, shown in _leaves(value, constant=constant, depth=0):
            types.append(f"{name}:{kind}")
            values.append(shown)
    return _name(function), _digest(types), _digest([*types, *values])


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> tuple[tuple[str, ...], frozenset[str]]:
    parameters = inspect.signature(function).parameters
    constants = (name for name, item in parameters.items() if "constexpr" in str(item.annotation))
    return tuple(parameters), frozenset(constants)


def _leaves(value: Any, *, constant: bool, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the type of every part of an argument, with its value where that is compiled in."""
    if isinstance(value, tuple):
        yield f"({len(value)}", ""
        if depth < MAX_DEPTH:
            for item in value:
                yield from _leaves(item, constant=constant, depth=depth + 1)
        return
    value_type = type(value)
    if hasattr(value, "data_ptr"):
        yield f"*{getattr(value, 'dtype', '')}", ""
    elif value_type in _BRANCHING and (constant or value is None):
        yield f"{value_type.__name__}={value!r:.40}", ""
    elif constant:
        shown = f"{value!r:.80}" if value_type in {int, float} else ""
        yield f"{value_type.__module__}.{value_type.__name__}{_word(value)}", shown
    else:
        yield value_type.__name__, ""


def _word(value: Any) -> str:
    """Return what tells a dtype of the language, or a constant of it, from another one."""
    inner = getattr(value, "value", getattr(value, "name", ""))
    return f"={inner!r:.40}" if isinstance(inner, (bool, str, int, float)) else ""


def _name(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", function))[:200]


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:DIGEST_CHARACTERS]
