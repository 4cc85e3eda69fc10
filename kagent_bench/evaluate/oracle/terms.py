"""The size of the terms of some formulas that cancel whatever the inputs, where perturbing the inputs does not show it.

A log-softmax is ``x - max - log(sum)``: where one element has all the probability it is nearly zero, however large x is.

The gradient of a log-softmax is ``g - exp(y) * sum(g)``: where one element has all the probability, both terms are
nearly equal however the inputs move, and each is rounded to its own size. So the terms are added up here.

A number of a range is its start and so many steps, rounded to the size of both.

An interpolation takes its weights from coordinates, which are rounded to their own size, not to that of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import torch

INTERPOLATIONS = ("bicubic2d", "bilinear2d", "linear1d", "trilinear3d")
COORDINATES = 4
"""Elements of a plane's side whose coordinates are rounded by as much as all else together."""

Terms: TypeAlias = "Callable[..., Sequence[torch.Tensor]]"


def _log_softmax(x: torch.Tensor, dim: int, *_: Any) -> Sequence[torch.Tensor]:
    size = x.abs()
    return [size + size.amax(dim, keepdim=True)]


def _cross_entropy(
    x: torch.Tensor, target: torch.Tensor, weight: torch.Tensor | None = None, reduction: int = 1, *_: Any
) -> Sequence[torch.Tensor]:
    del target
    classes = 1 if x.dim() > 1 else 0
    size = 2 * x.abs().amax(classes)
    if weight is not None:
        size = size * weight.abs().amax()
    return [size if reduction == 0 else size.mean() if reduction == 1 else size.sum()]


def _log_softmax_backward(g: torch.Tensor, y: torch.Tensor, dim: int, *_: Any) -> Sequence[torch.Tensor]:
    size = g.abs()
    return [size + y.exp() * size.sum(dim, keepdim=True)]


def _softmax_backward(g: torch.Tensor, y: torch.Tensor, dim: int, *_: Any) -> Sequence[torch.Tensor]:
    return [y.abs() * (g.abs() + (g * y).abs().sum(dim, keepdim=True))]


def _layer_norm_backward(
    g: torch.Tensor,
    x: torch.Tensor,
    shape: Sequence[int],
    mean: torch.Tensor,
    rstd: torch.Tensor,
    weight: torch.Tensor | None,
    _: torch.Tensor | None,
    mask: Sequence[bool],
) -> Sequence[torch.Tensor]:
    last = list(range(g.dim() - len(shape), g.dim()))
    rows = list(range(g.dim() - len(shape)))
    size, normal = g.abs(), (x.abs() + mean.abs()) * rstd.abs()
    weighted = size if weight is None else size * weight.abs()
    to_input = rstd.abs() * (
        weighted + weighted.mean(last, keepdim=True) + normal * (weighted * normal).mean(last, keepdim=True)
    )
    to_weight = (size * normal).sum(rows) if rows else size * normal
    to_bias = size.sum(rows) if rows else size
    return [item for item, wanted in zip((to_input, to_weight, to_bias), mask, strict=True) if wanted]


def _glu_backward(g: torch.Tensor, x: torch.Tensor, dim: int) -> Sequence[torch.Tensor]:
    value, gate = x.chunk(2, dim)
    to_value = g.abs() * gate.sigmoid()
    return [torch.cat([to_value, to_value * value.abs()], dim)]


def _interpolated(
    x: torch.Tensor, size: Sequence[int] | None, _: Any = None, scales: Any = None, *__: Any
) -> Sequence[torch.Tensor]:
    sides = x.shape[2:]
    if size is None:
        size = [int(side * scale) for side, scale in zip(sides, scales, strict=True)]
    return [_in_each_plane(x, size) * (1 + max(sides) / COORDINATES)]


def _interpolated_backward(g: torch.Tensor, _: Any, given: Sequence[int], *__: Any) -> Sequence[torch.Tensor]:
    planes = list(given[2:])
    terms = max(1.0, prod(g.shape[2:]) / prod(planes))
    return [_in_each_plane(g, planes) * terms * (1 + max(planes) / COORDINATES)]


def _in_each_plane(x: torch.Tensor, size: Sequence[int]) -> torch.Tensor:
    """Return the largest size in each channel, for every place of a plane."""
    planes = list(range(2, x.dim()))
    return x.abs().amax(planes, keepdim=True).expand(*x.shape[:2], *size)


def _range(start: float, end: float, *_: Any) -> Sequence[torch.Tensor]:
    return [torch.tensor(float(max(abs(start), abs(end))), dtype=torch.float64)]


TERMS: dict[str, Terms] = {
    "_log_softmax": _log_softmax,
    "log_softmax": _log_softmax,
    "cross_entropy_loss": _cross_entropy,
    "_log_softmax_backward_data": _log_softmax_backward,
    "_softmax_backward_data": _softmax_backward,
    "native_layer_norm_backward": _layer_norm_backward,
    "glu_backward": _glu_backward,
    "arange": _range,
    "linspace": _range,
    **{f"upsample_{name}": _interpolated for name in INTERPOLATIONS},
    **{f"upsample_{name}_backward": _interpolated_backward for name in INTERPOLATIONS},
}
"""The sum of the terms' sizes for each output, by operator name; arguments as the operator's, in float64."""
