"""What the oracle must know of an operator: its class, its contract, and which inputs mean something to it.

Everything that torch's schema and tags tell is read from there; the tables below hold the rest. They are the
place to look when a verdict surprises.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from kagent_bench.model.case import TensorSpec
from kagent_bench.model.names import ModuleName, OperatorName
from kagent_bench.suites.recording.kinds import ACTIVATIONS, is_elementwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.case import Case, Value
    from kagent_bench.model.names import ProblemName
    from kagent_bench.model.program import Program

LINEAR = frozenset(
    """
    sum mean nansum cumsum trace mm bmm addmm baddbmm addbmm mv addmv addr ger outer dot vdot inner matmul linear
    einsum tensordot kron convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    _convolution convolution_backward convolution_overrideable _slow_conv2d_forward thnn_conv2d mkldnn_convolution
    avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d _adaptive_avg_pool2d _adaptive_avg_pool3d
    adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d_backward avg_pool3d_backward index_add scatter_add
    embedding_bag _embedding_bag embedding_dense_backward index_put _adaptive_avg_pool2d_backward
    upsample_bilinear2d upsample_linear1d upsample_bicubic2d upsample_trilinear3d col2im im2col
    """.split()
)
"""Sums of products: the accumulated magnitude is the operator on absolute values."""

INTERIOR = frozenset(
    """
    tanh sinh asinh atanh expm1 log1p erfc erfinv special_ndtri special_erfcx softplus mish gelu silu elu
    selu celu log_sigmoid log_sigmoid_forward sigmoid hardswish logit xlogy special_xlog1py special_entr
    lgamma digamma polygamma mvlgamma special_log_ndtr special_ndtr igamma igammac sinc tan cos sin acos asin acosh
    atan atan2 log log2 log10 tanh_backward sigmoid_backward gelu_backward silu_backward mish_backward
    softplus_backward elu_backward log_sigmoid_backward logit_backward logaddexp logaddexp2 logsumexp logcumsumexp
    angle pow
    binary_cross_entropy binary_cross_entropy_with_logits binary_cross_entropy_backward kl_div i0 special_i0e
    special_i1 special_i1e special_bessel_j0 special_bessel_j1 special_zeta
    """.split()
)
"""Functions whose usual evaluation passes through values of order one, so that near a zero of the function an
honest kernel has an absolute error of a few units in the last place of one."""

NARROW_INTERIOR = frozenset(["hardswish", "sigmoid_backward", "tanh_backward"])
"""Those of them that need no transcendental function: a kernel may evaluate them in half precision throughout."""

SPECIAL_REDUCTIONS = frozenset(
    """
    sum mean prod nansum nanmean amax amin max min argmax argmin any all cumsum aminmax logsumexp
    mm bmm addmm baddbmm mv dot matmul isnan isfinite isinf
    sort topk cummax cummin kthvalue median nanmedian max_pool2d_with_indices max_pool3d_with_indices
    adaptive_max_pool2d adaptive_max_pool3d _softmax _log_softmax logcumsumexp linalg_vector_norm count_nonzero
    """.split()
)
"""Reductions and products whose results on NaN and infinities are defined."""

MOVEMENTS = frozenset(
    """
    tril triu flip roll rot90 cat stack hstack vstack index_select gather take take_along_dim index repeat
    repeat_interleave tile constant_pad_nd diag_embed diagonal_copy clone copy permute_copy transpose_copy
    masked_select slice_scatter select_scatter diagonal_scatter unfold_copy pixel_shuffle pixel_unshuffle embedding
    scatter index_copy index_fill index_put expand_copy channel_shuffle reflection_pad1d reflection_pad2d
    reflection_pad3d replication_pad1d replication_pad2d replication_pad3d upsample_nearest1d upsample_nearest2d
    upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d narrow_copy
    block_diag put masked_scatter im2col copy
    """.split()
)
"""Operators that only place elements: any value is as good as another, and none may leak to another place."""

AS_GIVEN_ONLY_PREFIXES = (
    "linalg_", "_linalg_", "fft_", "_fft_", "cholesky", "triangular_solve", "lu_", "svd", "qr", "geqrf", "ormqr",
    "orgqr", "lstsq", "inverse", "matrix_", "_cholesky", "_lu_", "_svd", "_eig", "eig", "symeig", "householder",
    "logdet", "slogdet", "det", "pinverse", "cdist", "_cdist", "_pdist", "grid_sampler", "_grid", "affine_grid",
    "upsample", "_upsample", "histc", "histogram", "quantile", "nanquantile", "cumprod", "prod", "_ctc", "ctc",
    "special_chebyshev", "special_hermite", "special_laguerre", "special_legendre", "special_shifted",
    "_native_batch_norm", "native_batch_norm", "_batch_norm", "batch_norm", "cudnn_", "miopen_", "renorm",
    "multinomial", "poisson", "binomial", "bernoulli", "normal", "uniform", "stft", "istft", "var", "std",
)  # fmt: skip
"""Operators for which values outside the recorded range mean nothing, overflow, or are ill-conditioned."""

COUNTS = frozenset(
    """
    bitwise_left_shift bitwise_right_shift __lshift__ __rshift__ __ilshift__ __irshift__ ldexp float_power
    """.split()
)
"""Elementwise operators to which an integer is a number of steps: large ones mean nothing or overflow."""

FEW_LEVELS = frozenset(
    """
    eq ne le lt ge gt isclose logical_and logical_or logical_xor logical_not heaviside sign sgn
    """.split()
)
"""Elementwise operators that look whether numbers are equal, which numbers drawn from many never are."""

JUMPS = FEW_LEVELS | frozenset(
    """
    floor ceil round trunc fix frac fmod remainder floor_divide div divide copysign angle atan2 hardshrink threshold
    rrelu nextafter frexp threshold_backward hardtanh_backward hardsigmoid_backward hardswish_backward
    hardshrink_backward softshrink_backward leaky_relu_backward elu_backward
    """.split()
)
"""Operators whose value leaps where an argument passes a point; that of a division only if it is rounded."""

FIXED_VALUES = frozenset(
    ["bucketize", "searchsorted", "histogramdd", "_histogramdd_bin_edges", "unique_consecutive"]
)
"""Operators with a float argument that has structure (sorted boundaries): the recorded range is not redrawn."""

TIE_INDICES = {
    "max": 1, "min": 1, "topk": 1, "sort": 1, "kthvalue": 1, "median": 1, "nanmedian": 1, "mode": 1, "cummax": 1,
    "cummin": 1, "argmax": 0, "argmin": 0, "argsort": 0, "max_pool2d_with_indices": 1, "max_pool3d_with_indices": 1,
    "adaptive_max_pool2d": 1, "adaptive_max_pool3d": 1,
}  # fmt: skip
"""Operators with an index output that is not unique under ties, and which output that is."""

EAGER_IS_EXACT = frozenset(
    ["_to_copy", "nextafter", "view", "frexp", "to", "type_as", "_to_dtype", "bitwise_not"]
)
"""Operators to which float64 has another meaning, or none: eager itself is the reference."""

CONSTANT_OUTPUT = frozenset(
    """
    zeros zeros_like ones ones_like full full_like fill fill_ zero zero_ new_zeros new_ones new_full scalar_tensor
    eye _efficientzerotensor
    """.split()
)
"""Operators whose right answer is a constant, so that a constant control proves nothing against a case."""

COPIES = frozenset(
    """
    clone copy copy_ _to_copy lift_fresh_copy alias_copy detach_copy view_copy expand_copy contiguous zeros_like
    zeros ones ones_like full full_like fill fill_ zero zero_ new_zeros new_ones new_full _unsafe_view
    permute_copy transpose_copy t_copy squeeze_copy unsqueeze_copy slice_copy select_copy as_strided_copy
    diagonal_copy unfold_copy split_copy unbind_copy reshape
    """.split()
)
"""Operators that do nothing but allocate, fill or copy: there torch's own copy and fill are the work itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Specials:
    """Which special values to strew, and how densely."""

    values: tuple[float, ...] = ()
    dense: bool = False
    """Whether many elements may be special, because each output depends on few inputs."""


_NAN_AND_ZERO = (float("nan"), -0.0, 0.0, 1.0, -1.0)
_ALL = (*_NAN_AND_ZERO, float("inf"), float("-inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Semantics:
    """Facts about one operator or module."""

    name: ProblemName
    elementwise: bool
    """Each output element depends on one element of each input (after broadcasting)."""
    linear: bool
    interior: bool
    narrow_interior: bool
    eager_is_exact: bool
    constant_output: bool
    copies: bool
    specials: Specials
    as_given_only: bool
    fixed_values: bool
    integers_are_data: bool
    """Whether integer tensors hold values to compute with, and neither places nor counts."""
    few_levels: bool
    """Whether small whole numbers are drawn from so few that equal ones meet."""
    tie_output: int | None
    """Index of the output whose values are not unique under ties."""
    mutated: frozenset[str]
    """Names of the arguments that the schema says are written."""
    steady: frozenset[int] = frozenset()
    """Storages that are drawn from their recorded range in every round: a module's parameters and buffers."""

    def allows_round(self, name: str) -> bool:
        """Return whether a distribution means something to this operator."""
        if name == "as_given":
            return True
        if self.fixed_values or self.as_given_only:
            return False
        return bool(self.specials.values) if name == "special" else True


def overload(name: ProblemName) -> torch._ops.OpOverload:
    """Return torch's operator.

    Raises:
        AttributeError: torch has no such operator; a module is none.
    """
    if isinstance(name, ModuleName):
        raise AttributeError(str(name))  # noqa: TRY004 - as for any other name that torch lacks
    packet = getattr(torch.ops.aten, name.base)
    return getattr(packet, name.overload)  # type: ignore[no-any-return]


def schema_of(operator: torch._ops.OpOverload) -> torch._C.FunctionSchema:
    """Return an operator's schema."""
    return operator._schema  # noqa: SLF001 - torch has no public way to it


@lru_cache(maxsize=4096)
def semantics_of(name: ProblemName) -> Semantics:
    """Return the facts about an operator, from torch's schema and tags and the tables here."""
    operator = overload(name)
    assert isinstance(name, OperatorName)
    plain = name.base.rstrip("_")
    base = name.base.removesuffix("_") if not name.base.endswith("__") else name.base
    elementwise = is_elementwise(operator)
    return Semantics(
        name=name,
        elementwise=elementwise,
        linear=base in LINEAR,
        interior=base in INTERIOR,
        narrow_interior=base in NARROW_INTERIOR,
        eager_is_exact=base in EAGER_IS_EXACT,
        constant_output=name.base in CONSTANT_OUTPUT,
        copies=name.base in COPIES,
        specials=_specials(plain, elementwise=elementwise),
        as_given_only=base.startswith(AS_GIVEN_ONLY_PREFIXES),
        fixed_values=base in FIXED_VALUES,
        integers_are_data=base in SPECIAL_REDUCTIONS | COPIES
        or (elementwise and base not in INTERIOR and base not in COUNTS),
        few_levels=base in FEW_LEVELS,
        tie_output=_tie_output(name, operator),
        mutated=frozenset(
            argument.name
            for argument in schema_of(operator).arguments
            if argument.alias_info is not None and argument.alias_info.is_write
        ),
    )


def module_semantics(program: Program, case: Case) -> Semantics:
    """Return the facts about a module: nothing but what its program writes, and which storages are its weights.

    Weights keep their range, because a module means something at those only; its arguments take all distributions.
    """
    given = {tensor.storage for value in case.args for tensor in tensors_of(value)}
    weights = {tensor.storage for _, value in case.kwargs for tensor in tensors_of(value)}
    return Semantics(
        name=case.operator,
        elementwise=False,
        linear=False,
        interior=False,
        narrow_interior=False,
        eager_is_exact=False,
        constant_output=False,
        copies=False,
        specials=Specials(),
        as_given_only=False,
        fixed_values=False,
        integers_are_data=False,
        few_levels=False,
        tie_output=None,
        mutated=frozenset(target for target, _ in program.writes),
        steady=frozenset(weights - given),
    )


def tensors_of(value: Value) -> Iterator[TensorSpec]:
    """Yield the tensors of an argument, in order."""
    if isinstance(value, TensorSpec):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from tensors_of(item)


def _specials(base: str, *, elementwise: bool) -> Specials:
    if base.endswith("_backward"):
        return Specials()
    if elementwise:
        return Specials(values=_NAN_AND_ZERO if base in ACTIVATIONS else _ALL, dense=True)
    if base in MOVEMENTS:
        return Specials(values=_ALL, dense=True)
    return Specials(values=_ALL) if base in SPECIAL_REDUCTIONS else Specials()


def _tie_output(name: OperatorName, operator: torch._ops.OpOverload) -> int | None:
    index = TIE_INDICES.get(name.base)
    returns = schema_of(operator).returns
    return index if index is not None and index < len(returns) else None
