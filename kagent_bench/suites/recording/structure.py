"""Recognises tensors whose values obey a rule that fresh random values would break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kagent_bench.suites.recording.elements import view_elements

if TYPE_CHECKING:
    from kagent_bench.model.case import StorageSpec, TensorSpec

Array = np.ndarray[Any, Any]

MIN_ELEMENTS = 4
"""With fewer elements, order or whole numbers are chance."""

MAX_LEVELS = 4
"""Tensors of so few different values, such as masks, are not continuous."""

ZERO_SHARE = 0.2
"""A larger share of exact zeros is a pattern: dropout, one-hot, sparsity."""

SUM_TOLERANCE = 1e-2
"""Half-precision rows of probabilities sum to one within this."""

MATRIX_TOLERANCE = 1e-3
"""Products of single-precision orthogonal matrices are the identity within this."""


def is_structured(tensor: TensorSpec, storage: StorageSpec) -> bool:
    """Whether the literal values of a tensor are whole, few, sorted, probabilities, or a special matrix."""
    values = view_elements(tensor, storage)
    if values is None or values.size < 2:  # noqa: PLR2004 - one number has no structure
        return False
    values = values.astype("complex128" if np.iscomplexobj(values) else "float64")
    return _is_discrete(values) or _is_sorted(values) or _is_distribution(values) or _is_special(values)


def _is_discrete(values: Array) -> bool:
    if values.size < MIN_ELEMENTS:
        return False
    if bool((values == np.round(values)).all()) or float((values == 0).mean()) >= ZERO_SHARE:
        return True
    return values.size > 2 * MAX_LEVELS and len(np.unique(values)) <= MAX_LEVELS


def _is_sorted(values: Array) -> bool:
    if values.ndim == 0 or values.shape[-1] < MIN_ELEMENTS or np.iscomplexobj(values):
        return False
    steps = np.diff(values, axis=-1)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _is_distribution(values: Array) -> bool:
    if np.iscomplexobj(values):
        return False
    rows = values if (values >= 0).all() else np.exp(np.minimum(values, 0.0))
    return any(
        size > 1 and bool((np.abs(rows.sum(axis=axis) - 1) < SUM_TOLERANCE).all())
        for axis, size in enumerate(values.shape)
    )


def _is_special(values: Array) -> bool:
    """Whether the last two dimensions hold symmetric, triangular or orthogonal matrices."""
    if values.ndim < 2 or values.shape[-1] != values.shape[-2] or values.shape[-1] < 2:  # noqa: PLR2004 - matrices
        return False
    adjoint = np.conj(np.swapaxes(values, -1, -2))
    if np.allclose(values, adjoint, rtol=MATRIX_TOLERANCE, atol=0):
        return True
    if not np.triu(values, 1).any() or not np.tril(values, -1).any():
        return True
    identity = np.broadcast_to(np.eye(values.shape[-1]), values.shape)
    return bool(np.allclose(adjoint @ values, identity, atol=MATRIX_TOLERANCE))
