"""What can be judged of an operator's output: its values, or only a named class of facts."""

from __future__ import annotations

import torch

ALLOCATES = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)
"""Operators that return new memory and write nothing to it."""

UNINITIALISED = ALLOCATES | {"_empty_affine_quantized", "resize", "resize_", "resize_as", "resize_as_"}
"""Operators whose output holds whatever the memory held."""

TRANSFORMS_INPUT_METADATA = frozenset({"as_strided_", "set_", "squeeze_", "t_", "transpose_", "unsqueeze_"})
"""In-place operators that change how their argument looks at memory, and no element."""


UNTAGGED_ELEMENTWISE = frozenset(
    """
    __and__ __lshift__ __or__ __rshift__ __xor__ abs copy copysign elu_backward eq floor_divide ge gt hardshrink_backward hardsigmoid_backward hardswish
    hardswish_backward hardtanh_backward heaviside isclose le leaky_relu_backward log_sigmoid_backward lt masked_fill mish
    mish_backward ne rsub softplus_backward softshrink_backward threshold
    """.split()
)
"""Elementwise operators, in place or not, of which torch forgot to say so in a tag."""

ACTIVATIONS = frozenset(
    """
    gelu silu mish hardswish softplus elu selu celu log_sigmoid log_sigmoid_forward logit hardsigmoid sinc xlogy
    special_xlog1py special_entr logaddexp logaddexp2 lerp addcmul addcdiv glu rrelu_with_noise prelu _prelu_kernel
    huber_loss smooth_l1_loss mse_loss binary_cross_entropy soft_margin_loss angle atan2 hypot
    lgamma digamma polygamma special_zeta igamma igammac special_ndtri erfinv i0 special_i0e special_i1
    special_i1e special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_erfcx
    """.split()
)
"""Composite functions whose value at an infinity depends on the formula: NaN, signed zero and large numbers are tried."""

WITH_LIMITS = frozenset(["angle", "atan2", "hypot", "logaddexp", "logaddexp2", "special_xlog1py", "xlogy"])
"""Those of them with a right answer to infinities all the same."""


def is_elementwise(operator: torch._ops.OpOverload) -> bool:
    """Whether each output element depends on one element of each input, after broadcasting."""
    base = operator._schema.name.partition("::")[2]  # noqa: SLF001 - as above
    plain = base if base.endswith("__") else base.removesuffix("_")
    return torch.Tag.pointwise in operator.tags or plain in UNTAGGED_ELEMENTWISE


def operator_kind(operator: torch._ops.OpOverload) -> str:
    """Return ``value``, ``random``, ``metadata``, ``view`` or ``data_dependent``.

    Deterministic creation operators such as ``zeros`` are judged by value.
    """
    schema = operator._schema  # noqa: SLF001 - torch's documented way to a schema
    base = schema.name.partition("::")[2]
    if base in UNINITIALISED:
        return "metadata"
    if torch.Tag.nondeterministic_seeded in operator.tags:
        return "random"
    if base in TRANSFORMS_INPUT_METADATA or _returns_view(schema):
        return "view"
    if {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output} & set(operator.tags):
        return "data_dependent"
    return "value"


def _returns_view(schema: torch.FunctionSchema) -> bool:
    aliases = [item.alias_info for item in schema.returns if item.alias_info is not None]
    return bool(aliases) and not any(alias.is_write for alias in aliases)
