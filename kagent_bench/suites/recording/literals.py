"""Numbers written as the raw elements of a literal storage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence


def encode_floats(values: Sequence[float], dtype: str) -> bytes:
    """Return the elements in a floating-point or complex dtype, rounded; complex ones have no imaginary part."""
    return _raw(torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype)))


def encode_integers(values: Sequence[int], dtype: str) -> bytes:
    """Return the elements in an integer dtype, wrapped around, or as booleans: zero or not."""
    return _raw(torch.tensor(values, dtype=torch.int64).to(getattr(torch, dtype)))


def _raw(flat: torch.Tensor) -> bytes:
    return flat.view(torch.uint8).numpy().tobytes()
