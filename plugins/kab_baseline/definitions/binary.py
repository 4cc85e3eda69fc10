"""Elementwise operators of two operands."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kab_baseline import primitives as p
from kab_baseline.definition import Pointwise, Result, Variant, pointwise

if TYPE_CHECKING:
    from collections.abc import Callable

V = Any  # a traced value, tensor or number

FLOAT = Result.FLOAT
BOOL = Result.BOOL


def _add(self: V, other: V, alpha: V) -> V:
    return self + alpha * other


def _subtract(self: V, other: V, alpha: V) -> V:
    return self - alpha * other


def _reverse_subtract(self: V, other: V, alpha: V) -> V:
    return other - alpha * self


def _power(self: V, exponent: V) -> V:
    return p.power(self, exponent)


def _power_number(self: V, exponent: V) -> V:
    return p.power_number(self, exponent)


def _xlogy(self: V, other: V) -> V:
    product = p.where(self == 0.0, 0.0, self * p.log(other))
    return p.where(p.is_nan(other), math.nan, product)


def _xlog1py(self: V, other: V) -> V:
    product = p.where(self == 0.0, 0.0, self * p.log1p(other))
    return p.where(p.is_nan(other), math.nan, product)


def _logaddexp(self: V, other: V) -> V:
    gap = -p.absolute(self - other)
    spread = p.maximum(self, other) + p.log1p(p.exp(gap))
    return p.where((self == other) & p.is_infinite(self), self, spread)


def _logaddexp2(self: V, other: V) -> V:
    gap = -p.absolute(self - other)
    spread = p.maximum(self, other) + p.log1p(p.exp2(gap)) * (1.0 / math.log(2.0))
    return p.where((self == other) & p.is_infinite(self), self, spread)


def _hypot(self: V, other: V) -> V:
    left = p.absolute(self)
    right = p.absolute(other)
    large = p.maximum(left, right)
    small = p.minimum(left, right)
    ratio = small / p.where(large == 0.0, 1.0, large)
    finite = large * p.sqrt(1.0 + ratio * ratio)
    return p.where((left == math.inf) | (right == math.inf), math.inf, finite)


def _heaviside(self: V, values: V) -> V:
    step = p.where(self < 0, 0, 1)
    return p.where(self == 0, values, p.where(p.is_nan(self), 0, step))


def _fmax(self: V, other: V) -> V:
    return p.where((self > other) | p.is_nan(other), self, other)


def _fmin(self: V, other: V) -> V:
    return p.where((self < other) | p.is_nan(other), self, other)


def _lcm(self: V, other: V) -> V:
    divisor = p.gcd(self, other)
    return p.where(divisor == 0, 0, p.absolute(p.trunc_divide(self, divisor) * other))


def _binary(
    summary: str,
    body: Callable[..., Any],
    result: Result = Result.COMMON,
    **options: Any,
) -> Pointwise:
    return pointwise(summary, body, result=result, promotes=("self", "other", "exponent"), **options)


def _by_rounding(summary: str) -> Pointwise:
    return Pointwise(
        summary=summary,
        promotes=("other",),
        variants=(
            Variant(
                name="exact",
                when="rounding_mode is None",
                body=p.divide,
                result=FLOAT,
            ),
            Variant(
                name="floor",
                when='rounding_mode == "floor"',
                body=p.floor_divide,
            ),
            Variant(name="trunc", when="", body=p.trunc_divide),
        ),
    )


_NEGATIVE_EXPONENT = (
    (
        "not dtype.is_floating_point and exponent < 0",
        "Integers to negative integer powers are not allowed.",
    ),
)
POWER_NUMBER = _binary("self ** exponent", _power_number, checks=_NEGATIVE_EXPONENT)
DIVISION = _binary("self / other", p.divide, FLOAT)
DIVISION_BY_MODE = _by_rounding("self / other, rounded as rounding_mode says")
_NO_BOOLEAN = (("dtype == torch.bool", "subtraction of booleans is not supported"),)

OPERATORS: dict[str, Pointwise] = {
    "add": _binary("self + alpha * other", _add),
    "sub": _binary("self - alpha * other", _subtract, checks=_NO_BOOLEAN),
    "subtract": _binary("self - alpha * other", _subtract, checks=_NO_BOOLEAN),
    "rsub": _binary("other - alpha * self", _reverse_subtract, checks=_NO_BOOLEAN),
    "mul": _binary("self * other", lambda self, other: self * other),
    "multiply": _binary("self * other", lambda self, other: self * other),
    "div": DIVISION,
    "divide": DIVISION,
    "true_divide": DIVISION,
    **{
        f"{base}.{overload}": DIVISION_BY_MODE
        for base in ("div", "div_", "divide", "divide_")
        for overload in ("Tensor_mode", "Scalar_mode", "out_mode", "Scalar_mode_out")
    },
    "floor_divide": _binary("floor(self / other)", p.floor_divide),
    "remainder": _binary("remainder with the sign of other", p.remainder),
    "fmod": _binary("remainder with the sign of self", p.modulo),
    "pow.Scalar": replace(_binary("self ** exponent", _power), contiguous=True),
    "pow.Scalar_out": replace(_binary("self ** exponent", _power), contiguous=True),
    "pow.Tensor_Scalar": POWER_NUMBER,
    "pow.Tensor_Scalar_out": POWER_NUMBER,
    "pow_.Scalar": POWER_NUMBER,
    "pow": _binary("self ** exponent", _power),
    "maximum": _binary("the larger one, NaN if any is NaN", p.maximum),
    "minimum": _binary("the smaller one, NaN if any is NaN", p.minimum),
    "fmax": _binary("the larger one, NaN if both are NaN", _fmax),
    "fmin": _binary("the smaller one, NaN if both are NaN", _fmin),
    "atan2": _binary("angle of (other, self)", p.atan2, FLOAT),
    "arctan2": _binary("angle of (other, self)", p.atan2, FLOAT),
    "hypot": _binary("sqrt(self**2 + other**2)", _hypot),
    "copysign": _binary("self with the sign of other", p.copy_sign, FLOAT),
    "logaddexp": _binary("log(e**self + e**other)", _logaddexp, FLOAT),
    "logaddexp2": _binary("log2(2**self + 2**other)", _logaddexp2, FLOAT),
    "xlogy": _binary("self * log(other), 0 where self is 0", _xlogy, FLOAT),
    "special_xlogy": _binary("self * log(other), 0 where self is 0", _xlogy, FLOAT),
    "special_xlog1py": _binary("self * log(1 + other), 0 where self is 0", _xlog1py, FLOAT),
    "heaviside": _binary("0, values or 1 by the sign of self", _heaviside),
    "gcd": _binary("greatest common divisor", p.gcd),
    "lcm": _binary("least common multiple", _lcm),
    "eq": _binary("self == other", lambda self, other: self == other, BOOL),
    "ne": _binary("self != other", lambda self, other: self != other, BOOL),
    "lt": _binary("self < other", lambda self, other: self < other, BOOL),
    "le": _binary("self <= other", lambda self, other: self <= other, BOOL),
    "gt": _binary("self > other", lambda self, other: self > other, BOOL),
    "ge": _binary("self >= other", lambda self, other: self >= other, BOOL),
    "not_equal": _binary("self != other", lambda self, other: self != other, BOOL),
    "less": _binary("self < other", lambda self, other: self < other, BOOL),
    "less_equal": _binary("self <= other", lambda self, other: self <= other, BOOL),
    "greater": _binary("self > other", lambda self, other: self > other, BOOL),
    "greater_equal": _binary("self >= other", lambda self, other: self >= other, BOOL),
    "logical_and": _binary("both are nonzero", lambda self, other: (self != 0) & (other != 0), BOOL),
    "logical_or": _binary("any is nonzero", lambda self, other: (self != 0) | (other != 0), BOOL),
    "logical_xor": _binary("exactly one is nonzero", lambda self, other: (self != 0) ^ (other != 0), BOOL),
    "bitwise_and": _binary("self & other", lambda self, other: self & other),
    "bitwise_or": _binary("self | other", lambda self, other: self | other),
    "bitwise_xor": _binary("self ^ other", lambda self, other: self ^ other),
    "bitwise_left_shift": _binary("self << other", p.shift_left),
    "bitwise_right_shift": _binary("self >> other", p.shift_right),
    "__lshift__": _binary("self << other", p.shift_left),
    "__rshift__": _binary("self >> other", p.shift_right),
    "__and__": _binary("self & other", lambda self, other: self & other),
    "__or__": _binary("self | other", lambda self, other: self | other),
    "__xor__": _binary("self ^ other", lambda self, other: self ^ other),
}
