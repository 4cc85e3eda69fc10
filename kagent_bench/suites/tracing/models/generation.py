"""Models that make images from noise: a UNet, diffusion transformers and a decoder, by diffusers."""

from __future__ import annotations

from typing import Any

import diffusers
import torch
from diffusers.models.attention_processor import AttnProcessor

from kagent_bench.suites.tracing.models.recipe import BF16, FP16, INFERENCE, TRAINING, Recipe
from kagent_bench.suites.tracing.targets import Workload

LATENT = 128
"""Side of the latent image: one of 1024 pixels."""


def _parts(model: Any, phase: str) -> Any:
    """Take attention apart where it is differentiated: the fused one has a backward for each device."""
    if phase == TRAINING:
        model.set_attn_processor(AttnProcessor())
    return model


def _sdxl(phase: str) -> Workload:
    model = diffusers.UNet2DConditionModel(
        sample_size=LATENT, in_channels=4, out_channels=4, cross_attention_dim=2048,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
        block_out_channels=(320, 640, 1280), layers_per_block=2, attention_head_dim=(5, 10, 20),
        transformer_layers_per_block=(1, 2, 10), use_linear_projection=True, addition_embed_type="text_time",
        addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816,
    )  # fmt: skip
    kwargs = {
        "sample": torch.randn(2, 4, LATENT, LATENT),
        "timestep": torch.tensor([999, 999]),
        "encoder_hidden_states": torch.randn(2, 77, 2048),
        "added_cond_kwargs": {"text_embeds": torch.randn(2, 1280), "time_ids": torch.randn(2, 6)},
        "return_dict": False,
    }
    return Workload(model=_parts(model, phase), kwargs=kwargs)


def _sd3(phase: str) -> Workload:
    del phase
    model = diffusers.SD3Transformer2DModel(
        sample_size=LATENT, patch_size=2, in_channels=16, num_layers=24, attention_head_dim=64,
        num_attention_heads=24, joint_attention_dim=4096, caption_projection_dim=1536, pooled_projection_dim=2048,
        out_channels=16, pos_embed_max_size=192,
    )  # fmt: skip
    kwargs = {
        "hidden_states": torch.randn(2, 16, LATENT, LATENT),
        "encoder_hidden_states": torch.randn(2, 154, 4096),
        "pooled_projections": torch.randn(2, 2048),
        "timestep": torch.randn(2),
        "return_dict": False,
    }
    return Workload(model=model, kwargs=kwargs)


def _dit(phase: str) -> Workload:
    model = diffusers.DiTTransformer2DModel(
        num_attention_heads=16, attention_head_dim=72, in_channels=4, out_channels=8, num_layers=28,
        sample_size=32, patch_size=2,
    )  # fmt: skip
    kwargs = {
        "hidden_states": torch.randn(16, 4, 32, 32),
        "timestep": torch.randint(0, 1000, (16,)),
        "class_labels": torch.randint(0, 1000, (16,)),
        "return_dict": False,
    }
    for block in model.transformer_blocks if phase == TRAINING else ():
        block.attn1.set_processor(AttnProcessor())
    return Workload(model=model, kwargs=kwargs)


def _decoder(phase: str) -> Workload:
    del phase
    model = diffusers.AutoencoderKL(
        block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
    ).decoder  # fmt: skip
    return Workload(model=model, args=(torch.randn(1, 4, LATENT, LATENT),))


RECIPES = (
    Recipe(name="sdxl-unet", make=_sdxl, phases=(INFERENCE, TRAINING), dtypes=(FP16,)),
    Recipe(name="sd3-medium", make=_sd3, phases=(INFERENCE,), dtypes=(BF16, FP16)),
    Recipe(name="dit-xl-2", make=_dit, dtypes=(BF16,)),
    Recipe(name="kl-decoder", make=_decoder, phases=(INFERENCE,), dtypes=(FP16,)),
)
