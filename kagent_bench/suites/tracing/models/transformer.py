"""Builds models of Hugging Face's transformers from their configurations."""

from __future__ import annotations

from typing import Any

import torch

from kagent_bench.suites.tracing.modules import without_memory


def built(family: Any, config: Any, attention: str) -> Any:
    """Return a model without memory.

    Args:
        family: one of the classes ``AutoModel...``.
        config: the model's sizes.
        attention: ``sdpa`` or ``eager``.
    """
    dtype = torch.get_default_dtype()
    return without_memory(lambda: family.from_config(config, attn_implementation=attention, dtype=dtype))
