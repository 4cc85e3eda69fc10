"""Calls on complex numbers as calls on their real and imaginary parts: Triton has no complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

Pair = tuple[Any, Any]
"""Real and imaginary part; the latter is 0 for a real number."""


def _parts(value: Any) -> Pair:
    if isinstance(value, torch.Tensor) and value.is_complex():
        pairs = aten.view_as_real(value)
        return aten.select.int(pairs, -1, 0), aten.select.int(pairs, -1, 1)
    return (value.real, value.imag) if isinstance(value, complex) else (value, 0)


def _is_complex(value: Any) -> bool:
    return value.is_complex() if isinstance(value, torch.Tensor) else isinstance(value, complex)


def _joined(real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
    return aten.view_as_complex(aten.stack([real, imaginary], -1))  # type: ignore[no-any-return]


def _of_parts(combine: Callable[[Pair, Pair], Pair]) -> Any:
    """Return a decomposition of a call on two numbers, of which one at least is complex."""

    def call(left: Any, right: Any, *rest: Any, **named: Any) -> Any:
        tensors = [item for item in (left, right) if isinstance(item, torch.Tensor)]
        plain = not any(map(_is_complex, (left, right)))
        if plain or any(item.is_conj() or item.is_neg() for item in tensors) or rest or named:
            return NotImplemented
        real, imaginary = combine(_parts(left), _parts(right))
        shape = torch.broadcast_shapes(  # type: ignore[no-untyped-call]
            *(item.shape for item in (real, imaginary) if isinstance(item, torch.Tensor))
        )
        whole = [
            item.expand(shape)
            if isinstance(item, torch.Tensor)
            else aten.full(shape, item, dtype=tensors[0].real.dtype)
            for item in (real, imaginary)
        ]
        return _joined(*whole)

    return call


def _product(multiply: Callable[[Any, Any], Any]) -> Callable[[Pair, Pair], Pair]:
    def product(left: Pair, right: Pair) -> Pair:
        if isinstance(right[1], int):
            return multiply(left[0], right[0]), multiply(left[1], right[0])
        if isinstance(left[1], int):
            return multiply(left[0], right[0]), multiply(left[0], right[1])
        real = multiply(left[0], right[0]) - multiply(left[1], right[1])
        return real, multiply(left[0], right[1]) + multiply(left[1], right[0])

    return product


def _real_only(call: Callable[[Any, Any], Any]) -> Any:
    """Return a decomposition of a call on a complex tensor with a real result."""

    def decomposed(value: torch.Tensor) -> Any:
        if not value.is_complex() or value.is_conj() or value.is_neg():
            return NotImplemented
        return call(*_parts(value))

    return decomposed


def _magnitude(real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
    return aten.hypot(real, imaginary)  # type: ignore[no-any-return]


def _angle(real: torch.Tensor, imaginary: torch.Tensor) -> torch.Tensor:
    return aten.atan2(imaginary, real)  # type: ignore[no-any-return]


PARTS: dict[Any, Any] = {
    aten.mul.Tensor: _of_parts(_product(lambda left, right: left * right)),
    aten.mm.default: _of_parts(_product(aten.mm.default)),
    aten.bmm.default: _of_parts(_product(aten.bmm.default)),
    aten.add.Tensor: _of_parts(lambda left, right: (left[0] + right[0], left[1] + right[1])),
    aten.sub.Tensor: _of_parts(lambda left, right: (left[0] - right[0], left[1] - right[1])),
    aten.complex.default: _joined,
    aten.polar.default: lambda size, angle: _joined(size * aten.cos(angle), size * aten.sin(angle)),
    aten.abs.default: _real_only(_magnitude),
    aten.angle.default: _real_only(_angle),
}
"""Decompositions by operator; ``NotImplemented`` leaves the call as it is."""
