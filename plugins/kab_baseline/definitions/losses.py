"""Loss functions and their gradients."""

from __future__ import annotations

from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import Loss, Pointwise, pointwise

V = Any  # a traced value, tensor or number


def _square(self: V, target: V) -> V:
    gap = self - target
    return gap * gap


def _smooth_l1(self: V, target: V, beta: V) -> V:
    gap = p.absolute(self - target)
    return p.where(gap < beta, 0.5 * gap * gap / beta, gap - 0.5 * beta)


def _huber(self: V, target: V, delta: V) -> V:
    gap = p.absolute(self - target)
    return p.where(gap <= delta, 0.5 * gap * gap, delta * (gap - 0.5 * delta))


def _soft_margin(self: V, target: V) -> V:
    return p.log1p(p.exp(-target * self))


def _square_backward(grad_output: V, self: V, target: V, reduction: V) -> V:
    return 2.0 * reduction * (self - target) * grad_output


def _smooth_l1_backward(grad_output: V, self: V, target: V, reduction: V, beta: V) -> V:
    gap = self - target
    inner = reduction * gap * grad_output / beta
    right = p.where(gap >= beta, reduction * grad_output, inner)
    return p.where(gap <= -beta, -reduction * grad_output, right)


def _huber_backward(grad_output: V, self: V, target: V, reduction: V, delta: V) -> V:
    gap = self - target
    bounded = p.where(gap < -delta, -delta, p.where(gap > delta, delta, gap))
    return reduction * bounded * grad_output


def _soft_margin_backward(grad_output: V, self: V, target: V, reduction: V) -> V:
    return -target * p.sigmoid(-target * self) * reduction * grad_output


_SHARE = {"reduction": "1.0 / max(self.numel(), 1) if reduction == 1 else 1.0"}
"""What a gradient is multiplied with: the number of elements divides where the loss was a mean."""

OPERATORS: dict[str, Loss] = {
    "mse_loss": Loss(summary="(self - target)**2", body=_square),
    "smooth_l1_loss": Loss(summary="absolute difference, quadratic below beta", body=_smooth_l1),
    "huber_loss": Loss(summary="quadratic below delta, linear above", body=_huber),
    "soft_margin_loss": Loss(summary="log(1 + e**(-target * self))", body=_soft_margin),
}
GRADIENTS: dict[str, Pointwise] = {
    "mse_loss_backward": pointwise("gradient of mse_loss", _square_backward, numbers=_SHARE, contiguous=True),
    "smooth_l1_loss_backward": pointwise(
        "gradient of smooth_l1_loss", _smooth_l1_backward, numbers=_SHARE, contiguous=True
    ),
    "huber_loss_backward": pointwise(
        "gradient of huber_loss", _huber_backward, numbers=_SHARE, contiguous=True
    ),
    "soft_margin_loss_backward": pointwise(
        "gradient of soft_margin_loss", _soft_margin_backward, numbers=_SHARE
    ),
}
