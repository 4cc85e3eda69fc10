"""Control outputs that must fail: a case on which zeros, ones, the input or a shuffled result pass proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kagent_bench.evaluate.oracle.semantics import Semantics


def controls_for(
    semantics: Semantics, inputs: Sequence[torch.Tensor]
) -> dict[str, Callable[..., torch.Tensor | None]]:
    """Return the controls of an operator by name; each maps eager's output to a wrong one, or None.

    Args:
        semantics: the operator's class; one whose right answer is a constant or a copy has fewer controls.
        inputs: the tensor arguments before the call.
    """
    controls: dict[str, Callable[..., torch.Tensor | None]] = {}
    if not semantics.constant_output:
        controls |= {"zeros": torch.zeros_like, "ones": torch.ones_like, "shuffled": _shuffled}
        if not semantics.copies:
            controls["input"] = lambda eager: _input_like(eager, inputs)
    return controls


def _shuffled(eager: torch.Tensor) -> torch.Tensor | None:
    return eager.flatten().roll(1).view(eager.shape) if eager.numel() > 1 else None


def _input_like(eager: torch.Tensor, inputs: Sequence[torch.Tensor]) -> torch.Tensor | None:
    for tensor in inputs:
        if tensor.shape == eager.shape and tensor.is_complex() == eager.is_complex():
            return tensor.to(eager.dtype)
    return None
