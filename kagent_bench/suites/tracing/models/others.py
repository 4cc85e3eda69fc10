"""Speech, pairs of images and texts, and a recommender that is written here, because no library offers one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
import transformers
from torch import nn

from kagent_bench.suites.tracing.models.recipe import BF16, FP16, INFERENCE, TRAINING, Recipe
from kagent_bench.suites.tracing.models.transformer import built
from kagent_bench.suites.tracing.targets import Workload


def _attention(phase: str) -> str:
    """Fused attention has a backward for each device; its parts are the same on all."""
    return "eager" if phase == TRAINING else "sdpa"


def _whisper(phase: str) -> Workload:
    config = transformers.WhisperConfig(
        d_model=1280, encoder_layers=32, decoder_layers=32, encoder_attention_heads=20, decoder_attention_heads=20,
        encoder_ffn_dim=5120, decoder_ffn_dim=5120, num_mel_bins=128, vocab_size=51866, use_cache=False,
    )  # fmt: skip
    model = built(transformers.AutoModelForSpeechSeq2Seq, config, _attention(phase))
    tokens = torch.randint(0, 50000, (4, 128))
    kwargs: dict[str, Any] = {"input_features": torch.randn(4, 128, 3000)}
    kwargs |= {"labels": tokens} if phase == TRAINING else {"decoder_input_ids": tokens}
    return Workload(model=model, kwargs=kwargs)


def _siglip(phase: str) -> Workload:
    config = transformers.SiglipConfig()
    model = built(transformers.AutoModel, config, _attention(phase))
    kwargs = {
        "input_ids": torch.randint(0, 32000, (32, 64)),
        "pixel_values": torch.randn(32, 3, 224, 224),
        "return_loss": phase == TRAINING,
    }
    return Workload(model=model, kwargs=kwargs)


class DeepRecommender(nn.Module):
    """DLRM (Naumov et al., 2019, arXiv:1906.00091): tables, two perceptrons, and products of all pairs."""

    def __init__(self, n_tables: int, n_rows: int, width: int) -> None:
        """Build the sizes that the paper's open benchmark has."""
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(n_rows, width, mode="sum") for _ in range(n_tables))
        self.bottom = _perceptron(13, 512, 256, width)
        n_pairs = n_tables * (n_tables + 1) // 2
        self.top = _perceptron(width + n_pairs, 1024, 1024, 512, 256, 1)

    def forward(self, dense: torch.Tensor, sparse: list[torch.Tensor], offsets: torch.Tensor) -> torch.Tensor:
        """Return one score for each row of ``dense``."""
        bottom = self.bottom(dense)
        rows = [bottom, *(table(ids, offsets) for table, ids in zip(self.tables, sparse, strict=True))]
        stacked = torch.stack(rows, dim=1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        left, right = torch.tril_indices(len(rows), len(rows), offset=-1)
        scores: torch.Tensor = torch.sigmoid(self.top(torch.cat([bottom, products[:, left, right]], dim=1)))
        return scores


def _perceptron(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _recommender(phase: str) -> Workload:
    del phase
    n_rows, n_examples, n_each = 1_000_000, 2048, 8
    model = DeepRecommender(n_tables=26, n_rows=n_rows, width=128)
    sparse = [torch.randint(0, n_rows, (n_examples * n_each,)) for _ in range(26)]
    offsets = torch.arange(0, n_examples * n_each, n_each)
    return Workload(model=model, args=(torch.randn(n_examples, 13), sparse, offsets))


RECIPES = (
    Recipe(name="whisper-large-v3", make=_whisper, dtypes=(FP16,)),
    Recipe(name="siglip-base", make=_siglip, phases=(INFERENCE, TRAINING)),
    Recipe(name="dlrm", make=_recommender, dtypes=(BF16,)),
)
