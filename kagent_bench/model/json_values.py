"""Any value of this package as a JSON value: no NaN, no infinity, no tuple, no path, no enum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any


def json_value(value: object) -> Any:
    """Return the JSON form of a value; an infinity or NaN, which JSON lacks, becomes its name as text.

    Raises:
        TypeError: the value has no JSON form.
    """
    if isinstance(value, Enum):
        return json_value(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(float(value))
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(json_value(item) for item in value)
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: json_value(getattr(value, item.name)) for item in fields(value)}
    message = f"no JSON form of {type(value).__name__}"
    raise TypeError(message)
