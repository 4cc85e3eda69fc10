"""Rules for floating-point domains: divisors that are not zero, positive numbers, probabilities, matrices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.suites.trace.draft import Draft

DIVISOR = (0.5, 2.5)
"""Far enough from zero that a quotient of plain values stays finite in float16."""
POSITIVE = (0.25, 4.0)
INTERIOR_PROBABILITY = (0.02, 0.98)
"""Probabilities whose logarithms are finite in every dtype."""
VARIANCE = (0.5, 2.0)
UNIT = (-0.95, 0.95)
"""Where inverse circular and error functions are finite."""
EXPONENT = (-2.0, 3.0)
MATRIX_RANK = 2

ARGUMENTS: dict[str, tuple[tuple[float, float], str]] = {
    "div": (DIVISOR, "other"),
    "divide": (DIVISOR, "other"),
    "true_divide": (DIVISOR, "other"),
    "floor_divide": (DIVISOR, "other"),
    "remainder": (DIVISOR, "other"),
    "fmod": (DIVISOR, "other"),
    "addcdiv": (DIVISOR, "tensor2"),
    "_foreach_div": (DIVISOR, "other"),
    "_foreach_addcdiv": (DIVISOR, "tensor2"),
    "reciprocal": (DIVISOR, "self"),
    "_foreach_reciprocal": (DIVISOR, "self"),
    "sqrt": (POSITIVE, "self"),
    "_foreach_sqrt": (POSITIVE, "self"),
    "_foreach_log": (POSITIVE, "self"),
    "rsqrt": (POSITIVE, "self"),
    "log": (POSITIVE, "self"),
    "log2": (POSITIVE, "self"),
    "log10": (POSITIVE, "self"),
    "log1p": (POSITIVE, "self"),
    "logcumsumexp": (UNIT, "self"),
    "lgamma": (POSITIVE, "self"),
    "digamma": (POSITIVE, "self"),
    "polygamma": (POSITIVE, "self"),
    "xlogy": (POSITIVE, "other"),
    "special_xlog1py": (POSITIVE, "other"),
    "acos": (UNIT, "self"),
    "asin": (UNIT, "self"),
    "atanh": (UNIT, "self"),
    "erfinv": (UNIT, "self"),
    "acosh": ((1.05, 4.0), "self"),
    "logit": (INTERIOR_PROBABILITY, "self"),
    "cumprod": ((0.9, 1.1), "self"),
    "prod": ((0.9, 1.1), "self"),
    "poisson": (POSITIVE, "self"),
    "grid_sampler_2d": (UNIT, "grid"),
    "grid_sampler_3d": (UNIT, "grid"),
    "grid_sampler_2d_backward": (UNIT, "grid"),
    "grid_sampler_3d_backward": (UNIT, "grid"),
    "native_batch_norm": (VARIANCE, "running_var"),
    "_native_batch_norm_legit": (VARIANCE, "running_var"),
    "_native_batch_norm_legit_no_training": (VARIANCE, "running_var"),
    "_batch_norm_with_update": (VARIANCE, "running_var"),
    "_batch_norm_no_update": (VARIANCE, "running_var"),
    "batch_norm": (VARIANCE, "running_var"),
    "cudnn_batch_norm": (VARIANCE, "running_var"),
    "miopen_batch_norm": (VARIANCE, "running_var"),
    "multinomial": ((0.05, 1.0), "self"),
    "_fused_adam": (VARIANCE, "exp_avg_sqs"),
    "_fused_adamw": (VARIANCE, "exp_avg_sqs"),
    "tanh_backward": (UNIT, "output"),
    "sigmoid_backward": (INTERIOR_PROBABILITY, "output"),
    "kl_div": (POSITIVE, "target"),
    "dequantize": (POSITIVE, "self"),
}
"""For one argument: from where its values are drawn, and its name."""


def _argument(draft: Draft, bounds: tuple[float, float], name: str) -> None:
    """Draw one argument from a range."""
    for slot in draft.tensors(name):
        slot.uniform(*bounds)


def _power(draft: Draft) -> None:
    """A positive base where the exponent is a tensor or a fraction; few enough steps for float16."""
    exponent = draft.value("exponent")
    whole = isinstance(exponent, int) or (isinstance(exponent, float) and exponent.is_integer())
    if not whole or (isinstance(exponent, int | float) and exponent < 0):
        _argument(draft, POSITIVE, "self")
    for slot in draft.tensors("exponent"):
        # A whole exponent below zero has no whole power.
        slot.uniform(EXPONENT[0] if slot.is_floating else 0.0, EXPONENT[1])


def _probabilities(draft: Draft) -> None:
    for slot in draft.tensors("self", "target", "p"):
        slot.uniform(*INTERIOR_PROBABILITY)


def _bernoulli(draft: Draft) -> None:
    """``bernoulli`` reads its probabilities from ``self``; ``bernoulli_.Tensor`` from ``p``."""
    for slot in draft.tensors("self", "p"):
        slot.uniform(0.0, 1.0)


def _normal(draft: Draft) -> None:
    _argument(draft, POSITIVE, "std")


def _positive_definite(draft: Draft) -> None:
    """A matrix times its transpose, plus its size on the diagonal: no eigenvalue is near zero."""
    slot = next(draft.tensors("self", "A", "input"), None)
    if slot is None or len(slot.shape) < MATRIX_RANK or slot.size(-2) != slot.size(-1):
        return
    view, n = slot.view, slot.size(-1)
    rows, columns = view.stride[-2:]
    transposed = replace(view, stride=(*view.stride[:-2], columns, rows))
    diagonal = replace(view, shape=view.shape[:-1], stride=(*view.stride[:-2], rows + columns))
    slot.uniform(*UNIT)
    draft.compute(slot, "matmul.default", view, transposed)
    draft.compute(slot, "add.Scalar", diagonal, n, into=diagonal)


RULES: dict[str, Callable[[Draft], None]] = {
    **{name: partial(_argument, bounds=bounds, name=where) for name, (bounds, where) in ARGUMENTS.items()},
    "pow": _power,
    "float_power": _power,
    "binary_cross_entropy": _probabilities,
    "binary_cross_entropy_backward": _probabilities,
    "bernoulli": _bernoulli,
    "normal": _normal,
    **dict.fromkeys(
        """
        cholesky linalg_cholesky linalg_cholesky_ex cholesky_inverse linalg_inv_ex linalg_inv inverse _linalg_solve_ex
        linalg_solve linalg_solve_ex _linalg_eigh linalg_eigh _linalg_det linalg_det _linalg_slogdet linalg_slogdet
        linalg_lu_factor_ex linalg_ldl_factor_ex
        """.split(),
        _positive_definite,
    ),
}
