"""The elements of a literal storage as numbers, and what is special about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from kagent_bench.model.case import LiteralValues, StorageSpec

CONSTANT, NEGATIVE_ZERO, NAN, INFINITE = "constant", "negative_zero", "nan", "infinite"

_COMPLEX_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_BFLOAT16_SHIFT = 16
"""A bfloat16 is the upper half of a float32."""


def elements(storage: StorageSpec) -> np.ndarray[Any, Any] | None:
    """Return the elements of a literal storage; complex ones as pairs of parts, in one flat array.

    None for a rule, and for the 8-bit floating-point dtypes, which numpy cannot read.
    """
    if not isinstance(storage.rule, LiteralValues) or storage.dtype.startswith("float8"):
        return None
    if storage.dtype == "bfloat16":
        halves = np.frombuffer(storage.rule.data, dtype="<u2").astype("<u4")
        return (halves << _BFLOAT16_SHIFT).view("<f4")
    name = _COMPLEX_PARTS.get(storage.dtype, storage.dtype)
    return np.frombuffer(storage.rule.data, dtype=np.dtype(name).newbyteorder("<"))


def is_floating(dtype: str) -> bool:
    """Whether a dtype holds floating-point or complex numbers."""
    return dtype.startswith(("float", "bfloat", "complex"))


def special_values(storage: StorageSpec) -> frozenset[str]:
    """Return what is special in the values of a literal storage: constant, negative_zero, nan, infinite."""
    values = elements(storage)
    if values is None or values.size == 0:
        return frozenset()
    found = []
    if values.size > 1 and (values == values[0]).all():
        found.append(CONSTANT)
    if is_floating(storage.dtype):
        if not np.isfinite(values).all():
            found += [NAN] if np.isnan(values).any() else []
            found += [INFINITE] if np.isinf(values).any() else []
        zero = values == 0
        if zero.any() and np.signbit(values[zero]).any():
            found.append(NEGATIVE_ZERO)
    return frozenset(found)
