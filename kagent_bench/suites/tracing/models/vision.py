"""Image models: transformers and convolutional networks, by timm and torchvision."""

from __future__ import annotations

from functools import partial

import timm
import torch
import torchvision

from kagent_bench.suites.tracing.models.recipe import BF16, FP16, TRAINING, Recipe
from kagent_bench.suites.tracing.modules import without_memory
from kagent_bench.suites.tracing.targets import Workload

IMAGES = 32
"""Images at a time."""


def _timm(name: str, phase: str, *, size: int = 224) -> Workload:
    timm.layers.set_fused_attn(enable=phase != TRAINING)  # whose backward is one for each device
    model = without_memory(lambda: timm.create_model(name, pretrained=False))
    return Workload(model=model, args=(torch.randn(IMAGES, 3, size, size),))


def _resnet(phase: str) -> Workload:
    del phase
    return Workload(model=torchvision.models.resnet50(weights=None), args=(torch.randn(IMAGES, 3, 224, 224),))


RECIPES = (
    Recipe(name="vit-base", make=partial(_timm, "vit_base_patch16_224"), dtypes=(BF16, FP16)),
    Recipe(name="dinov3-vit-small", make=partial(_timm, "vit_small_patch16_dinov3", size=256)),
    Recipe(name="convnext-base", make=partial(_timm, "convnext_base"), dtypes=(BF16,)),
    Recipe(name="swinv2-tiny", make=partial(_timm, "swinv2_tiny_window8_256", size=256)),
    Recipe(name="efficientnetv2-s", make=partial(_timm, "tf_efficientnetv2_s", size=300), dtypes=(FP16,)),
    Recipe(name="mobilenetv4-medium", make=partial(_timm, "mobilenetv4_conv_medium"), dtypes=(FP16,)),
    Recipe(name="resnet50", make=_resnet, dtypes=(FP16,)),
)
