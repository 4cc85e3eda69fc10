"""Operators that reduce rows and use the result for each element: softmax, layer normalisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kab_baseline import primitives as p
from kab_baseline.definition import RowResult, Rows, Variant
from kab_baseline.definitions.reductions import Builder, one

if TYPE_CHECKING:
    from kab_baseline.signature import Signature

V = Any  # a traced value, tensor or number


def _softmax(self: V) -> V:
    grown = p.exp(self - p.row_max(self))
    return grown / p.row_sum(grown)


def _log_softmax(self: V) -> V:
    shifted = self - p.row_max(self)
    return shifted - p.log(p.row_sum(p.exp(shifted)))


def _softmax_backward(grad_output: V, output: V) -> V:
    product = grad_output * output
    return product - output * p.row_sum(product)


def _log_softmax_backward(grad_output: V, output: V) -> V:
    return grad_output - p.exp(output) * p.row_sum(grad_output)


def _layer_norm(input: V, count: V, eps: V) -> tuple[V, V, V]:  # noqa: A002 - named as in the schema
    mean = p.row_sum(input) / count
    gap = input - mean
    scale = p.rsqrt(p.row_sum(gap * gap) / count + eps)
    return gap * scale, mean, scale


def _layer_norm_weight(input: V, count: V, eps: V, weight: V) -> tuple[V, V, V]:  # noqa: A002
    value, mean, scale = _layer_norm(input, count, eps)
    return value * weight, mean, scale


def _layer_norm_bias(input: V, count: V, eps: V, bias: V) -> tuple[V, V, V]:  # noqa: A002
    value, mean, scale = _layer_norm(input, count, eps)
    return value + bias, mean, scale


def _layer_norm_both(input: V, count: V, eps: V, weight: V, bias: V) -> tuple[V, V, V]:  # noqa: A002
    value, mean, scale = _layer_norm(input, count, eps)
    return value * weight + bias, mean, scale


def _along(summary: str, body: Any, prepare: tuple[str, ...] = (), result: str = "dtype") -> Builder:
    """Return the builder of an operator along one dimension with a result of the same shape."""

    def build(signature: Signature) -> Rows | None:
        operands = tuple(item.name for item in signature.inputs if item.is_tensor)
        if "self" in operands and len(operands) > 1 and "output" in operands:
            operands = ("grad_output", "output")
        first = operands[0]
        return Rows(
            summary=summary,
            variants=one(body),
            results=(RowResult(name="result", dtype=result, per_element=True),),
            operands=operands,
            shape=f"tuple({first}.shape)",
            dims=f"reduced_dims(dim, {first}.dim())",
            keepdim="True",
            dtype=f"{first}.dtype",
            prepare=prepare,
        )

    return build


_STATISTICS = (
    "# A GPU's statistics are as wide as what it computes in, those of the CPU as the parameters.",
    "statistics = torch.float64 if input.dtype == torch.float64 else torch.float32",
    'if input.device.type == "cpu":',
    "    statistics = next((item.dtype for item in (weight, bias) if item is not None), input.dtype)",
)


def _native_layer_norm(signature: Signature) -> Rows | None:
    del signature
    return Rows(
        summary="(input - mean) / sqrt(variance + eps) * weight + bias, mean, 1 / sqrt(variance + eps)",
        variants=(
            Variant(name="plain", when="weight is None and bias is None", body=_layer_norm),
            Variant(name="weighted", when="bias is None", body=_layer_norm_weight),
            Variant(name="shifted", when="weight is None", body=_layer_norm_bias),
            Variant(name="affine", when="", body=_layer_norm_both),
        ),
        results=(
            RowResult(name="out", dtype="dtype", per_element=True),
            RowResult(name="mean", dtype="statistics"),
            RowResult(name="rstd", dtype="statistics"),
        ),
        operands=("input", "weight", "bias"),
        shape="tuple(input.shape)",
        dims="tuple(range(input.dim() - len(normalized_shape), input.dim()))",
        keepdim="True",
        dtype="input.dtype",
        prepare=_STATISTICS,
    )


_HALF_TO_FLOAT = "torch.float32 if half_to_float else dtype"

BUILDERS: dict[str, Builder] = {
    "_softmax": _along("e**self / sum(e**self) along dim", _softmax, result=_HALF_TO_FLOAT),
    "_log_softmax": _along("self - log(sum(e**self)) along dim", _log_softmax, result=_HALF_TO_FLOAT),
    "_softmax_backward_data": _along("gradient of softmax", _softmax_backward, result="input_dtype"),
    "_log_softmax_backward_data": _along(
        "gradient of log_softmax", _log_softmax_backward, result="input_dtype"
    ),
    "native_layer_norm": _native_layer_norm,
}
