"""The elements of a literal storage as numbers, and what is special about them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from kagent_bench.model.case import LiteralValues, StorageSpec, TensorSpec

CONSTANT, NEGATIVE_ZERO, NAN, INFINITE = "constant", "negative_zero", "nan", "infinite"

Array = np.ndarray[Any, Any]

_COMPLEX = {"complex64": "<c8", "complex128": "<c16"}
_UNREADABLE = ("float8", "complex32")
"""Dtypes that numpy lacks."""
_BFLOAT16_SHIFT = 16
"""A bfloat16 is the upper half of a float32."""


def elements(storage: StorageSpec) -> Array | None:
    """Return the elements of a literal storage; None for a rule, and for dtypes that numpy cannot read."""
    if not isinstance(storage.rule, LiteralValues) or storage.dtype.startswith(_UNREADABLE):
        return None
    if storage.dtype == "bfloat16":
        halves = np.frombuffer(storage.rule.data, dtype="<u2").astype("<u4")
        return (halves << _BFLOAT16_SHIFT).view("<f4")
    if storage.dtype in _COMPLEX:
        return np.frombuffer(storage.rule.data, dtype=_COMPLEX[storage.dtype])
    return np.frombuffer(storage.rule.data, dtype=np.dtype(storage.dtype).newbyteorder("<"))


def view_elements(tensor: TensorSpec, storage: StorageSpec) -> Array | None:
    """Return the elements of a view of a literal storage, in the view's shape; None as ``elements``."""
    flat = elements(storage)
    if flat is None or 0 in tensor.shape:
        return flat if flat is None else np.empty(tensor.shape, flat.dtype)
    strides = tuple(step * flat.itemsize for step in tensor.stride)
    return np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, strides, writeable=False)


def used_elements(views: Sequence[TensorSpec], storage: StorageSpec) -> Array | None:
    """Return the elements that some view of a storage looks at, those between them left out, as real numbers.

    Complex ones count as two.
    """
    if len(views) == 1 and prod(views[0].shape) == storage.numel:
        found = elements(storage)
    else:
        seen = [view_elements(view, storage) for view in views]
        found = np.concatenate([item.ravel() for item in seen if item is not None]) if seen else None
    if found is not None and np.iscomplexobj(found):
        return found.view("<f4" if found.itemsize == np.dtype("c8").itemsize else "<f8")
    return found


def is_floating(dtype: str) -> bool:
    """Whether a dtype holds floating-point or complex numbers."""
    return dtype.startswith(("float", "bfloat", "complex"))


def special_values(values: Array | None) -> frozenset[str]:
    """Return what is special in some real numbers: constant, negative_zero, nan, infinite."""
    if values is None or values.size == 0:
        return frozenset()
    found = []
    if values.size > 1 and bool((values == values[0]).all()):
        found.append(CONSTANT)
    if values.dtype.kind == "f":
        if not bool(np.isfinite(values).all()):
            found += [NAN] if bool(np.isnan(values).any()) else []
            found += [INFINITE] if bool(np.isinf(values).any()) else []
        zero = values == 0
        if bool(zero.any()) and bool(np.signbit(values[zero]).any()):
            found.append(NEGATIVE_ZERO)
    return frozenset(found)
