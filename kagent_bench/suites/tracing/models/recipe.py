"""How one model is built and called for the shipped trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.suites.tracing.targets import Workload

INFERENCE = "inference"
PREFILL = "prefill"
DECODE = "decode"
TRAINING = "training"

FP16 = "float16"
BF16 = "bfloat16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A model in its phases."""

    name: str
    make: Callable[[str], Workload]
    """Given a phase, builds the model in torch's default dtype and its arguments; called on tensors without memory."""
    phases: tuple[str, ...] = (INFERENCE, TRAINING)
    dtypes: tuple[str, ...] = (BF16,)
    """torch's names."""
