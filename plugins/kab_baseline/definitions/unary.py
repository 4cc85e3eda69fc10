"""Elementwise operators of one operand."""

from __future__ import annotations

import math
from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import Pointwise, Result, Variant, pointwise

V = Any  # a traced value, tensor or number


def _rad(self: V) -> V:
    return self * (math.pi / 180.0)


def _deg(self: V) -> V:
    return self * (180.0 / math.pi)


def _sinc(self: V) -> V:
    angle = self * math.pi
    return p.where(self == 0.0, 1.0, p.sin(angle) / p.where(self == 0.0, 1.0, angle))


def _nan_to_num(self: V, nan: V, posinf: V, neginf: V) -> V:
    finite = p.where(self == math.inf, posinf, p.where(self == -math.inf, neginf, self))
    return p.where(p.is_nan(self), nan, finite)


def _logit(self: V) -> V:
    return p.log(self / (1.0 - self))


def _logit_eps(self: V, eps: V) -> V:
    low = p.where(self < eps, eps, self)
    bounded = p.where(low > 1.0 - eps, 1.0 - eps, low)
    return p.log(bounded / (1.0 - bounded))


def _round_decimals(self: V, decimals: V) -> V:
    scale = p.power(10.0 + decimals * 0.0, decimals)
    return p.where(decimals == 0.0, p.round_even(self), p.round_even(self * scale) / scale)


def _entropy(self: V) -> V:
    inside = p.where(self > 0.0, -self * p.log(self), p.where(self == 0.0, 0.0, -math.inf))
    return p.where(p.is_nan(self), self, inside)


def _positive_infinity(self: V) -> V:
    return self == math.inf


def _negative_infinity(self: V) -> V:
    return self == -math.inf


FLOAT = Result.FLOAT
BOOL = Result.BOOL

_TYPE_LIMITS = {
    "nan": "0.0 if nan is None else nan",
    "posinf": "torch.finfo(dtype).max if posinf is None else posinf",
    "neginf": "torch.finfo(dtype).min if neginf is None else neginf",
}
_NO_BOOLEAN = (("dtype == torch.bool", "not defined for boolean tensors"),)


def _whole(summary: str, body: Any) -> Pointwise:
    """Rounding: integers stay as they are."""
    identity = Variant(name="integral", when="not self.dtype.is_floating_point", body=lambda self: self)
    return Pointwise(
        summary=summary, variants=(identity, Variant(name="floating", when="", body=body)), checks=_NO_BOOLEAN
    )


OPERATORS: dict[str, Pointwise] = {
    "abs": pointwise("absolute value", p.absolute),
    "absolute": pointwise("absolute value", p.absolute),
    "neg": pointwise("-self", lambda self: -self, checks=_NO_BOOLEAN),
    "negative": pointwise("-self", lambda self: -self, checks=_NO_BOOLEAN),
    "positive": pointwise("self", lambda self: self),
    "square": pointwise("self * self", lambda self: self * self),
    "sgn": pointwise("sign", p.sign),
    "sign": pointwise("-1, 0 or 1", p.sign),
    "signbit": pointwise("whether the sign bit is set", p.sign_bit, result=BOOL),
    "ceil": _whole("round up", p.ceil),
    "floor": _whole("round down", p.floor),
    "round": _whole("round to nearest, ties to even", p.round_even),
    **{
        name: _whole("round to nearest at a number of decimals, ties to even", _round_decimals)
        for name in ("round.decimals", "round.decimals_out", "round_.decimals")
    },
    "special_entr": pointwise("-self * log(self)", _entropy, result=FLOAT),
    "trunc": _whole("round towards zero", p.trunc),
    "fix": _whole("round towards zero", p.trunc),
    "frac": pointwise("fraction with the sign of self", lambda self: self - p.trunc(self)),
    "sqrt": pointwise("square root", p.sqrt, result=FLOAT),
    "rsqrt": pointwise("1 / sqrt(self)", p.rsqrt, result=FLOAT),
    "reciprocal": pointwise("1 / self", lambda self: 1.0 / self, result=FLOAT),
    "exp": pointwise("e**self", p.exp, result=FLOAT),
    "exp2": pointwise("2**self", p.exp2, result=FLOAT),
    "expm1": pointwise("e**self - 1", p.expm1, result=FLOAT),
    "log": pointwise("natural logarithm", p.log, result=FLOAT),
    "log1p": pointwise("log(1 + self)", p.log1p, result=FLOAT),
    "log2": pointwise("logarithm to base 2", p.log2, result=FLOAT),
    "log10": pointwise("logarithm to base 10", p.log10, result=FLOAT),
    "sin": pointwise("sine", p.sin, result=FLOAT),
    "cos": pointwise("cosine", p.cos, result=FLOAT),
    "tan": pointwise("tangent", p.tan, result=FLOAT),
    "asin": pointwise("arc sine", p.asin, result=FLOAT),
    "arcsin": pointwise("arc sine", p.asin, result=FLOAT),
    "acos": pointwise("arc cosine", p.acos, result=FLOAT),
    "arccos": pointwise("arc cosine", p.acos, result=FLOAT),
    "atan": pointwise("arc tangent", p.atan, result=FLOAT),
    "arctan": pointwise("arc tangent", p.atan, result=FLOAT),
    "sinh": pointwise("hyperbolic sine", p.sinh, result=FLOAT),
    "cosh": pointwise("hyperbolic cosine", p.cosh, result=FLOAT),
    "tanh": pointwise("hyperbolic tangent", p.tanh, result=FLOAT),
    "asinh": pointwise("inverse hyperbolic sine", p.asinh, result=FLOAT),
    "arcsinh": pointwise("inverse hyperbolic sine", p.asinh, result=FLOAT),
    "acosh": pointwise("inverse hyperbolic cosine", p.acosh, result=FLOAT),
    "arccosh": pointwise("inverse hyperbolic cosine", p.acosh, result=FLOAT),
    "atanh": pointwise("inverse hyperbolic tangent", p.atanh, result=FLOAT),
    "arctanh": pointwise("inverse hyperbolic tangent", p.atanh, result=FLOAT),
    "erf": pointwise("error function", p.erf, result=FLOAT),
    "special_erf": pointwise("error function", p.erf, result=FLOAT),
    "erfc": pointwise("1 - erf(self)", p.erfc, result=FLOAT),
    "special_erfc": pointwise("1 - erf(self)", p.erfc, result=FLOAT),
    "sigmoid": pointwise("1 / (1 + e**-self)", p.sigmoid, result=FLOAT),
    "special_expit": pointwise("1 / (1 + e**-self)", p.sigmoid, result=FLOAT),
    "special_exp2": pointwise("2**self", p.exp2, result=FLOAT),
    "special_expm1": pointwise("e**self - 1", p.expm1, result=FLOAT),
    "special_log1p": pointwise("log(1 + self)", p.log1p, result=FLOAT),
    "sinc": pointwise("sin(pi x) / (pi x), 1 at 0", _sinc, result=FLOAT),
    "deg2rad": pointwise("degrees to radians", _rad, result=FLOAT),
    "rad2deg": pointwise("radians to degrees", _deg, result=FLOAT),
    "isnan": pointwise("whether self is NaN", p.is_nan, result=BOOL),
    "isinf": pointwise("whether self is infinite", p.is_infinite, result=BOOL),
    "isfinite": pointwise(
        "whether self is neither infinite nor NaN",
        lambda self: (p.is_nan(self) | p.is_infinite(self)) == 0,
        result=BOOL,
    ),
    "isposinf": Pointwise(
        summary="whether self is positive infinity",
        variants=(
            Variant(
                name="integral",
                when="not self.dtype.is_floating_point",
                body=p.is_nan,
                result=BOOL,
            ),
            Variant(name="floating", when="", body=_positive_infinity, result=BOOL),
        ),
    ),
    "isneginf": Pointwise(
        summary="whether self is negative infinity",
        variants=(
            Variant(
                name="integral",
                when="not self.dtype.is_floating_point",
                body=p.is_nan,
                result=BOOL,
            ),
            Variant(name="floating", when="", body=_negative_infinity, result=BOOL),
        ),
    ),
    "logical_not": pointwise("whether self is zero", lambda self: self == 0, result=BOOL),
    "bitwise_not": Pointwise(
        summary="bitwise complement, of a boolean its opposite",
        variants=(
            Variant(name="boolean", when="self.dtype == torch.bool", body=lambda self: self == 0),
            Variant(name="integral", when="", body=p.invert),
        ),
    ),
    "nan_to_num": Pointwise(
        summary="replace NaN and infinities by numbers",
        variants=(
            Variant(name="integral", when="not self.dtype.is_floating_point", body=lambda self: self),
            Variant(name="floating", when="", body=_nan_to_num),
        ),
        numbers=_TYPE_LIMITS,
    ),
    "logit": Pointwise(
        summary="log(x / (1 - x)), x first clamped to [eps, 1 - eps] where eps is given",
        variants=(
            Variant(name="plain", when="eps is None", body=_logit, result=FLOAT),
            Variant(name="clamped", when="", body=_logit_eps, result=FLOAT),
        ),
    ),
}
