"""Calls by the operator that means the same on every device, where a backend has one of its own.

Fused attention is dispatched to an operator of the CPU here and to one of several on a GPU; a model asked for none
of them. Their backwards have no such equal and stay as they are.
"""

from __future__ import annotations

from kagent_bench.model.names import OperatorName
from kagent_bench.suites.trace.call import Arguments, TracedTensor, TracedValue

MATRIX_RANK = 2
ATTENTION = OperatorName.parse("scaled_dot_product_attention.default")
_ATTENTION_ARGUMENTS = {
    "_scaled_dot_product_flash_attention_for_cpu": ("query", "key", "value", "dropout_p", "is_causal"),
    "_scaled_dot_product_flash_attention": ("query", "key", "value", "dropout_p", "is_causal"),
    "_scaled_dot_product_efficient_attention": (
        "query", "key", "value", "attn_mask", "compute_log_sumexp", "dropout_p", "is_causal",
    ),
    "_scaled_dot_product_cudnn_attention": (
        "query", "key", "value", "attn_mask", "compute_log_sumexp", "dropout_p", "is_causal",
    ),
    "_scaled_dot_product_attention_math_for_mps": ("query", "key", "value", "attn_mask", "dropout_p", "is_causal"),
}  # fmt: skip
"""The arguments that may be positional, by the names that the portable operator has for them."""
_DEFAULTS: dict[str, TracedValue] = {"attn_mask": None, "dropout_p": 0.0, "is_causal": False}


def portable(operator: OperatorName, arguments: Arguments) -> tuple[OperatorName, Arguments]:
    """Return a call as it would be made on any device."""
    names = _ATTENTION_ARGUMENTS.get(operator.base)
    if names is None or operator.overload != "default":
        return operator, arguments
    given: dict[str, TracedValue] = dict(zip(names, arguments.args, strict=False))
    given |= {"attn_mask" if name == "attn_bias" else name: value for name, value in arguments.kwargs}
    tensors = tuple(given[name] for name in ("query", "key", "value"))
    options = tuple(given.get(name, default) for name, default in _DEFAULTS.items())
    scale = given.get("scale")
    kwargs: tuple[tuple[str, TracedValue], ...] = () if scale is None else (("scale", scale),)
    if _heads(given["query"]) != _heads(given["key"]):
        kwargs += (("enable_gqa", True),)  # which the backend's operator reads from the shapes
    return ATTENTION, Arguments((*tensors, *options), kwargs)


def _heads(value: TracedValue) -> int | None:
    """Return the heads of queries or keys of shape [batch, heads, tokens, width]."""
    return value.shape[-3] if isinstance(value, TracedTensor) and len(value.shape) > MATRIX_RANK else None
