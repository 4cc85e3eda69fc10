"""Language models: dense ones, mixtures of experts, state-space models and an encoder, by Hugging Face's transformers.

The sizes are those of published models. ``prefill`` reads a prompt, ``decode`` makes one token for each of several
sequences after such a prompt, ``training`` is a forward and a backward with a loss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import transformers

from kagent_bench.suites.tracing.models.recipe import (
    DECODE,
    FP16,
    INFERENCE,
    PREFILL,
    TRAINING,
    Recipe,
)
from kagent_bench.suites.tracing.models.transformer import built
from kagent_bench.suites.tracing.targets import Workload

PROMPT = 2048
"""Tokens of a prompt, and of what is in the cache when a token is made."""
SEQUENCES = 8
"""Sequences that tokens are made for at a time."""
TRAINED = (2, 1024)
"""Sequences and tokens of a training step."""
LLM = (PREFILL, DECODE, TRAINING)


def _causal(config: Callable[[], Any], phase: str, *, attention: str = "sdpa") -> Workload:
    made = config()
    made.use_cache = phase == DECODE
    if phase == TRAINING:
        attention = "eager"  # fused attention has a backward for each device, these parts are the same on all
    model = built(transformers.AutoModelForCausalLM, made, attention)
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("batched_mm")
    vocabulary = made.get_text_config().vocab_size
    if phase == TRAINING:
        tokens = torch.randint(0, vocabulary, TRAINED)
        return Workload(model=model, kwargs={"input_ids": tokens, "labels": tokens})
    if phase == PREFILL:
        tokens = torch.randint(0, vocabulary, (1, PROMPT))
        return Workload(model=model, kwargs={"input_ids": tokens, "logits_to_keep": 1})
    model.eval()
    with torch.no_grad():
        prompt = torch.randint(0, vocabulary, (SEQUENCES, PROMPT))
        read = model(input_ids=prompt, use_cache=True, logits_to_keep=1)
    token = torch.randint(0, vocabulary, (SEQUENCES, 1))
    kept = {name: read[name] for name in ("past_key_values", "cache_params") if name in read}
    return Workload(model=model, kwargs={"input_ids": token, "use_cache": True, **kept})


def _encoder(config: Callable[[], Any], phase: str) -> Workload:
    made = config()
    attention = "eager" if phase == TRAINING else "sdpa"
    model = built(transformers.AutoModelForMaskedLM, made, attention)
    tokens = torch.randint(0, made.vocab_size, (16, 512))
    kwargs: dict[str, Any] = {"input_ids": tokens}
    return Workload(model=model, kwargs=kwargs | ({"labels": tokens} if phase == TRAINING else {}))


def _llama() -> Any:
    return transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
        num_attention_heads=32, num_key_value_heads=8, max_position_embeddings=131072,
    )  # fmt: skip


def _qwen3() -> Any:
    return transformers.Qwen3Config(
        vocab_size=151936, hidden_size=2560, intermediate_size=9728, num_hidden_layers=36,
        num_attention_heads=32, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True,
    )  # fmt: skip


def _qwen3_moe() -> Any:
    return transformers.Qwen3MoeConfig(
        vocab_size=151936, hidden_size=2048, intermediate_size=6144, moe_intermediate_size=768,
        num_hidden_layers=48, num_attention_heads=32, num_key_value_heads=4, head_dim=128,
        num_experts=128, num_experts_per_tok=8,
    )  # fmt: skip


def _mixtral() -> Any:
    return transformers.MixtralConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
        num_attention_heads=32, num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2,
    )  # fmt: skip


def _mamba2() -> Any:
    return transformers.Mamba2Config(
        vocab_size=50288, hidden_size=2560, num_heads=80, head_dim=64, num_hidden_layers=64, n_groups=1,
        state_size=128,
    )  # fmt: skip


def _modernbert() -> Any:
    return transformers.ModernBertConfig()


def _bert() -> Any:
    return transformers.BertConfig()


RECIPES = (
    Recipe(name="llama-3-8b", make=partial(_causal, _llama), phases=LLM),
    Recipe(name="qwen3-4b", make=partial(_causal, _qwen3), phases=LLM),
    Recipe(name="qwen3-30b-a3b", make=partial(_causal, _qwen3_moe), phases=LLM),
    Recipe(name="mixtral-8x7b", make=partial(_causal, _mixtral), phases=LLM, dtypes=(FP16,)),
    Recipe(name="mamba2-2.7b", make=partial(_causal, _mamba2, attention="eager"), phases=LLM),
    Recipe(name="modernbert-base", make=partial(_encoder, _modernbert), phases=(INFERENCE, TRAINING)),
    Recipe(name="bert-base", make=partial(_encoder, _bert), dtypes=(FP16,)),
)
