"""What is known of a tensor without its values, and a tensor of which no more is known."""

from __future__ import annotations

import torch

from kagent_bench.model.program import TensorFacts


def facts_of(value: torch.Tensor) -> TensorFacts:
    """Return what is known of a tensor."""
    dtype = str(value.dtype).removeprefix("torch.")
    return TensorFacts(dtype=dtype, shape=tuple(value.shape), stride=tuple(value.stride()))


def meta_of(facts: TensorFacts) -> torch.Tensor:
    """Return a tensor without memory."""
    return torch.empty_strided(facts.shape, facts.stride, dtype=getattr(torch, facts.dtype), device="meta")


def unique(text: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    name, number = text, 1
    while name in taken:
        name, number = f"{text}_{number}", number + 1
    taken.add(name)
    return name
