"""Activation functions and what goes with them."""

from __future__ import annotations

import math
from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import Pointwise, Result, Variant, pointwise

V = Any  # a traced value, tensor or number

GELU_SLOPE = math.sqrt(2.0 / math.pi)
GELU_CUBIC = 0.044715
"""Coefficient of the cubic term in the tanh form of GELU (Hendrycks and Gimpel, arXiv 1606.08415)."""
SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946
"""The two constants of SELU (Klambauer et al., arXiv 1706.02515)."""
HARD_LIMIT = 3.0
"""Where the piecewise linear sigmoid reaches 0 and 1 (torch.nn.Hardsigmoid)."""


def _relu(self: V) -> V:
    return p.where(self < 0, 0, self)


def _relu6(self: V) -> V:
    return _clamp(self, 0, 6)


def _clamp(self: V, min: V, max: V) -> V:  # noqa: A002 - named as in the schema
    return p.minimum(p.maximum(self, min), max)


def _leaky_relu(self: V, negative_slope: V) -> V:
    return p.where(self > 0.0, self, self * negative_slope)


def _elu(self: V, alpha: V, scale: V, input_scale: V) -> V:
    negative = p.expm1(self * input_scale) * alpha * scale
    return p.where(self <= 0.0, negative, self * scale)


def _selu(self: V) -> V:
    return _elu(self, SELU_ALPHA, SELU_SCALE, 1.0)


def _celu(self: V, alpha: V) -> V:
    return p.where(self > 0.0, self, p.expm1(self / alpha) * alpha)


def _normal_share(self: V) -> V:
    """Share of a standard normal below a number, without cancellation on either side."""
    tail = p.normal_tail(p.absolute(self))
    return p.where(self < 0.0, tail, 1.0 - tail)


def _gelu(self: V) -> V:
    return self * _normal_share(self)


def _gelu_tanh(self: V) -> V:
    inner = GELU_SLOPE * (self + GELU_CUBIC * self * self * self)
    return self * p.sigmoid(2.0 * inner)


def _silu(self: V) -> V:
    return self / (1.0 + p.exp(-self))


def _mish(self: V) -> V:
    return self * p.tanh(p.softplus_plain(self))


def _hardtanh(self: V, min_val: V, max_val: V) -> V:
    return _clamp(self, min_val, max_val)


def _hardsigmoid(self: V) -> V:
    return _clamp(self + 3.0, 0.0, 6.0) / 6.0


def _hardswish(self: V) -> V:
    return self * _clamp(self + 3.0, 0.0, 6.0) / 6.0


def _softplus(self: V, beta: V, threshold: V) -> V:
    scaled = self * beta
    return p.where(scaled > threshold, self, p.log1p(p.exp(scaled)) / beta)


def _softshrink(self: V, lambd: V) -> V:
    shrunk = p.where(self < -lambd, self + lambd, self * 0.0)
    return p.where(self > lambd, self - lambd, shrunk)


def _hardshrink(self: V, lambd: V) -> V:
    return p.where((self >= -lambd) & (self <= lambd), 0.0, self)


def _threshold(self: V, threshold: V, value: V) -> V:
    return p.where(self <= threshold, value, self)


def _log_sigmoid(self: V) -> V:
    return p.minimum(self, 0.0) - p.log1p(p.exp(-p.absolute(self)))


def _prelu(self: V, weight: V) -> V:
    return p.where(self > 0.0, self, self * weight)


# --- backward: the gradient with respect to the input, times grad_output ------------------------------------


def _threshold_backward(grad_output: V, self: V, threshold: V) -> V:
    return p.where(self <= threshold, 0, grad_output)


def _sigmoid_backward(grad_output: V, output: V) -> V:
    return grad_output * ((1.0 - output) * output)


def _tanh_backward(grad_output: V, output: V) -> V:
    return grad_output * (1.0 - output * output)


def _silu_backward(grad_output: V, self: V) -> V:
    share = p.sigmoid(self)
    return grad_output * share * (1.0 + self * (1.0 - share))


def _gelu_backward(grad_output: V, self: V) -> V:
    cumulative = _normal_share(self)
    density = p.exp(self * self * -0.5) * (1.0 / math.sqrt(2.0 * math.pi))
    return grad_output * (cumulative + self * density)


def _gelu_tanh_backward(grad_output: V, self: V) -> V:
    square = self * self
    inner = GELU_SLOPE * (self + GELU_CUBIC * square * self)
    half_plus = p.sigmoid(2.0 * inner)
    slope = GELU_SLOPE * (1.0 + 3.0 * GELU_CUBIC * square)
    return grad_output * (half_plus + 2.0 * self * slope * half_plus * p.sigmoid(-2.0 * inner))


def _leaky_relu_backward(grad_output: V, self: V, negative_slope: V) -> V:
    return p.where(self > 0.0, grad_output, grad_output * negative_slope)


def _elu_backward(grad_output: V, alpha: V, scale: V, input_scale: V, self_or_result: V) -> V:
    grown = p.exp(self_or_result * input_scale)
    negative = grad_output * input_scale * alpha * scale * grown
    return p.where(self_or_result <= 0.0, negative, grad_output * scale)


def _elu_backward_of_result(grad_output: V, alpha: V, scale: V, input_scale: V, self_or_result: V) -> V:
    negative = grad_output * input_scale * (self_or_result + alpha * scale)
    return p.where(self_or_result <= 0.0, negative, grad_output * scale)


def _hardtanh_backward(grad_output: V, self: V, min_val: V, max_val: V) -> V:
    return p.where((self > min_val) & (self < max_val), grad_output, 0.0)


def _hardsigmoid_backward(grad_output: V, self: V) -> V:
    return p.where((self > -HARD_LIMIT) & (self < HARD_LIMIT), grad_output / 6.0, 0.0)


def _hardswish_backward(grad_output: V, self: V) -> V:
    middle = grad_output * (self / 3.0 + 0.5)
    return p.where(self <= -HARD_LIMIT, 0.0, p.where(self < HARD_LIMIT, middle, grad_output))


def _softplus_backward(grad_output: V, self: V, beta: V, threshold: V) -> V:
    scaled = self * beta
    return p.where(scaled > threshold, grad_output, grad_output * p.sigmoid(scaled))


def _shrink_backward(grad_output: V, self: V, lambd: V) -> V:
    return p.where((self < -lambd) | (self > lambd), grad_output, 0.0)


def _hardshrink_backward(grad_out: V, self: V, lambd: V) -> V:
    return p.where((self < -lambd) | (self > lambd), grad_out, 0.0)


def _mish_backward(grad_output: V, self: V) -> V:
    squashed = p.tanh(p.softplus_plain(self))
    return grad_output * (squashed + self * p.sigmoid(self) * (1.0 - squashed * squashed))


def _logit_backward(grad_output: V, self: V) -> V:
    inside = grad_output / (self * (1.0 - self))
    return p.where((self < 0.0) | (self > 1.0), math.nan, inside)


def _logit_backward_eps(grad_output: V, self: V, eps: V) -> V:
    inside = grad_output / (self * (1.0 - self))
    return p.where((self >= eps) & (self <= 1.0 - eps), inside, 0.0)


FLOAT = Result.FLOAT

_NO_BOOLEAN = (("dtype == torch.bool", "not defined for boolean tensors"),)
RELU = pointwise("max(self, 0), NaN stays NaN", _relu, checks=_NO_BOOLEAN)

OPERATORS: dict[str, Pointwise] = {
    "relu": RELU,
    "relu6": pointwise("self clamped to [0, 6]", _relu6),
    "leaky_relu": pointwise("self, negative values times negative_slope", _leaky_relu),
    "elu": pointwise("self, negative values alpha * (e**self - 1), scaled", _elu),
    "selu": pointwise("scaled ELU with fixed constants", _selu),
    "celu": pointwise("self, negative values alpha * (e**(self / alpha) - 1)", _celu),
    "gelu": Pointwise(
        summary="self * Phi(self), exact or by tanh",
        variants=(
            Variant(name="exact", when='approximate == "none"', body=_gelu),
            Variant(name="tanh", when="", body=_gelu_tanh),
        ),
    ),
    "silu": pointwise("self * sigmoid(self)", _silu, result=FLOAT),
    "mish": pointwise("self * tanh(softplus(self))", _mish),
    "hardtanh": pointwise("self clamped to [min_val, max_val]", _hardtanh),
    "hardsigmoid": pointwise("clamp(self + 3, 0, 6) / 6", _hardsigmoid),
    "hardswish": pointwise("self * clamp(self + 3, 0, 6) / 6", _hardswish),
    "softplus": pointwise("log(1 + e**(beta * self)) / beta, linear above threshold", _softplus),
    "softshrink": pointwise("self drawn towards 0 by lambd", _softshrink),
    "hardshrink": pointwise("self, 0 inside of [-lambd, lambd]", _hardshrink),
    "threshold": pointwise("self where it exceeds threshold, else value", _threshold),
    "log_sigmoid": pointwise("log(sigmoid(self))", _log_sigmoid),
    "_prelu_kernel": pointwise("self, negative values times weight", _prelu),
    "threshold_backward": pointwise("grad_output where self exceeds threshold, else 0", _threshold_backward),
    "sigmoid_backward": pointwise("grad_output * output * (1 - output)", _sigmoid_backward),
    "tanh_backward": pointwise("grad_output * (1 - output**2)", _tanh_backward),
    "silu_backward": pointwise("gradient of silu", _silu_backward),
    "gelu_backward": Pointwise(
        summary="gradient of gelu",
        variants=(
            Variant(name="exact", when='approximate == "none"', body=_gelu_backward),
            Variant(name="tanh", when="", body=_gelu_tanh_backward),
        ),
    ),
    "leaky_relu_backward": pointwise(
        "gradient of leaky_relu", _leaky_relu_backward, ignores=("self_is_result",)
    ),
    "elu_backward": Pointwise(
        summary="gradient of elu, from its input or its result",
        variants=(
            Variant(name="of_result", when="is_result", body=_elu_backward_of_result),
            Variant(name="of_input", when="", body=_elu_backward),
        ),
    ),
    "hardtanh_backward": pointwise("gradient of hardtanh", _hardtanh_backward),
    "hardsigmoid_backward": pointwise("gradient of hardsigmoid", _hardsigmoid_backward),
    "hardswish_backward": pointwise("gradient of hardswish", _hardswish_backward),
    "softplus_backward": pointwise("gradient of softplus", _softplus_backward),
    "softshrink_backward": pointwise("gradient of softshrink", _shrink_backward),
    "hardshrink_backward": pointwise("gradient of hardshrink", _hardshrink_backward),
    "mish_backward": pointwise("gradient of mish", _mish_backward),
    "logit_backward": Pointwise(
        summary="gradient of logit",
        variants=(
            Variant(name="plain", when="eps is None", body=_logit_backward),
            Variant(name="clamped", when="", body=_logit_backward_eps),
        ),
    ),
}
