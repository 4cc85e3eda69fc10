"""Elementwise operators of three operands, and those whose operands may be absent."""

from __future__ import annotations

from typing import Any

from kab_baseline import primitives as p
from kab_baseline.definition import Pointwise, Variant, pointwise

V = Any  # a traced value, tensor or number


def _clamp(self: V, min: V, max: V) -> V:  # noqa: A002 - named as in the schema
    bounded = p.minimum(p.maximum(self, min), max)
    return p.where(p.is_nan(min), min, p.where(p.is_nan(max), max, bounded))


def _clamp_min(self: V, min: V) -> V:  # noqa: A002 - named as in the schema
    return p.maximum(self, min)


def _clamp_max(self: V, max: V) -> V:  # noqa: A002 - named as in the schema
    return p.minimum(self, max)


def _where(condition: V, self: V, other: V) -> V:
    return p.where(condition, self, other)


def _lerp(self: V, end: V, weight: V) -> V:
    gap = end - self
    near = self + weight * gap
    far = end - gap * (1.0 - weight)
    return p.where(p.absolute(weight) < 0.5, near, far)  # noqa: PLR2004 - the nearer end is exact


def _addcmul(self: V, tensor1: V, tensor2: V, value: V) -> V:
    return self + value * tensor1 * tensor2


def _addcdiv(self: V, tensor1: V, tensor2: V, value: V) -> V:
    return self + value * tensor1 / tensor2


def _masked_fill(self: V, mask: V, value: V) -> V:
    return p.where(mask, value, self)


CLAMP = Pointwise(
    summary="self limited to [min, max]; a bound may be absent, NaN stays NaN",
    variants=(
        Variant(name="below", when="max is None", body=_clamp_min),
        Variant(name="above", when="min is None", body=_clamp_max),
        Variant(name="both", when="", body=_clamp),
    ),
    promotes=("min", "max"),
)

OPERATORS: dict[str, Pointwise] = {
    "clamp": CLAMP,
    "clip": CLAMP,
    "clamp_min": pointwise("max(self, min)", _clamp_min, promotes=("min",)),
    "clamp_max": pointwise("min(self, max)", _clamp_max, promotes=("max",)),
    "where": pointwise(
        "self where condition, else other", _where, promotes=("self", "other"), unpromoted=("condition",)
    ),
    "masked_fill": pointwise(
        "value where mask, else self", _masked_fill, unpromoted=("mask",), dtype="self.dtype", contiguous=True
    ),
    "lerp": pointwise("self + weight * (end - self)", _lerp),
    "addcmul": pointwise("self + value * tensor1 * tensor2", _addcmul),
    "addcdiv": pointwise("self + value * tensor1 / tensor2", _addcdiv),
}
