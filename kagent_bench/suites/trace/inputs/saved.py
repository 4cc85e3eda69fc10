"""Rules for what a forward saved for its backward: statistics, outputs and places, computed by that forward."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.inputs.domains import VARIANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.model.case import Value
    from kagent_bench.suites.trace.draft import Draft

WITHOUT_CONVERSION = False
"""``half_to_float`` of a softmax."""
EPSILON = 1e-5
"""What torch adds to a variance by default; backward operators do not say what their forward added."""


def _save(draft: Draft, forward: str, args: tuple[Value, ...], **outputs: int) -> None:
    """Compute arguments by the forward: each named one is the output of that index."""
    for name, index in outputs.items():
        slot = draft.tensor(name)
        if slot is not None:
            draft.compute(slot, forward, *args, output=index)


def _softmax(draft: Draft, *, forward: str) -> None:
    """``output`` is a softmax along ``dim``, of values of its own."""
    slot = draft.tensor("output")
    if slot is not None:
        draft.compute(slot, forward, slot.view, draft.value("dim"), WITHOUT_CONVERSION)


def _layer_norm(draft: Draft) -> None:
    args = (draft.value("input"), draft.value("normalized_shape"), None, None, EPSILON)
    _save(draft, "native_layer_norm.default", args, mean=1, rstd=2)


def _rms_norm(draft: Draft) -> None:
    args = (draft.value("input"), draft.value("normalized_shape"), None, EPSILON)
    _save(draft, "_fused_rms_norm.default", args, rstd=1)


def _group_norm(draft: Draft) -> None:
    sizes = tuple(draft.value(name) for name in ("N", "C", "HxW", "group"))
    args = (draft.value("input"), None, None, *sizes, EPSILON)
    _save(draft, "native_group_norm.default", args, mean=1, rstd=2)


def _batch_norm(draft: Draft) -> None:
    variance = draft.tensor("running_var")
    if variance is not None:
        variance.uniform(*VARIANCE)
    args = (draft.value("input"), None, None, None, None, True, 0.1, draft.value("eps") or EPSILON)
    _save(draft, "native_batch_norm.default", args, save_mean=1, save_invstd=2, save_var=2)


def _max_pool(draft: Draft, *, forward: str) -> None:
    names = ("self", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
    args = tuple(draft.value(name) for name in names)
    _save(draft, forward, args, indices=1)


def _adaptive_max_pool(draft: Draft, *, forward: str, n_dims: int) -> None:
    gradient = draft.tensor("grad_output")
    if gradient is not None:
        _save(draft, forward, (draft.value("self"), gradient.shape[-n_dims:]), indices=1)


def _cdist(draft: Draft) -> None:
    args = (draft.value("x1"), draft.value("x2"), draft.value("p"), None)
    _save(draft, "_cdist_forward.default", args, cdist=0)


def _weight_norm(draft: Draft) -> None:
    args = (draft.value("saved_v"), draft.value("saved_g"), draft.integer("dim"))
    _save(draft, "_weight_norm_interface.default", args, saved_norms=1)


def _attention(draft: Draft) -> None:
    """The fused attention of a CPU saves its output and a logarithm of a sum; others save what only they read."""
    names = ("query", "key", "value", "dropout_p", "is_causal")
    options = {"attn_mask": draft.value("attn_mask"), "scale": draft.value("scale")}
    args = tuple(draft.value(name) for name in names)
    if all(value is None for value in options.values()):
        forward = "_scaled_dot_product_flash_attention_for_cpu.default"
        _save(draft, forward, args, out=0, logsumexp=1)


def _ctc(draft: Draft) -> None:
    """Probabilities of letters, and texts of letters that are not blank."""
    scores, targets = draft.tensor("log_probs"), draft.tensor("targets")
    if scores is None or targets is None:
        return
    draft.compute(scores, "_log_softmax.default", scores.view, len(scores.shape) - 1, WITHOUT_CONVERSION)
    targets.integers(1, max(1, scores.size(-1) - 1))
    for slot in draft.tensors("input_lengths"):
        slot.integers(scores.size(0), scores.size(0))
    for slot in draft.tensors("target_lengths"):
        slot.integers(1, max(1, min(targets.size(-1), scores.size(0) // 2)))
    names = ("log_probs", "targets", "input_lengths", "target_lengths", "blank")
    args = tuple(draft.value(name) for name in names)
    overload = "Tensor" if draft.tensor("input_lengths") is not None else "default"
    _save(draft, f"_ctc_loss.{overload}", args, neg_log_likelihood=0, log_alpha=1)


RULES: dict[str, Callable[[Draft], None]] = {
    "_softmax_backward_data": partial(_softmax, forward="_softmax.default"),
    "_log_softmax_backward_data": partial(_softmax, forward="_log_softmax.default"),
    "native_layer_norm_backward": _layer_norm,
    "_fused_rms_norm_backward": _rms_norm,
    "native_group_norm_backward": _group_norm,
    **dict.fromkeys(
        [
            "native_batch_norm_backward",
            "cudnn_batch_norm_backward",
            "batch_norm_backward",
            "miopen_batch_norm_backward",
        ],
        _batch_norm,
    ),
    "max_pool2d_with_indices_backward": partial(_max_pool, forward="max_pool2d_with_indices.default"),
    "max_pool3d_with_indices_backward": partial(_max_pool, forward="max_pool3d_with_indices.default"),
    "adaptive_max_pool2d_backward": partial(
        _adaptive_max_pool, forward="adaptive_max_pool2d.default", n_dims=2
    ),
    "adaptive_max_pool3d_backward": partial(
        _adaptive_max_pool, forward="adaptive_max_pool3d.default", n_dims=3
    ),
    "_cdist_backward": _cdist,
    "_weight_norm_interface_backward": _weight_norm,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention,
    "_ctc_loss": _ctc,
    "_ctc_loss_backward": _ctc,
}
