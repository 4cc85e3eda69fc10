"""RMS normalisation and rotary position embedding."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        angles = torch.outer(torch.arange(6.0), 1.0 / 100 ** (torch.arange(0, width, 2) / width))
        self.register_buffer("cosine", torch.cat([angles.cos(), angles.cos()], -1))
        self.register_buffer("sine", torch.cat([angles.sin(), angles.sin()], -1))

    def forward(self, x):
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        first, second = y.chunk(2, -1)
        return y * self.cosine + torch.cat([-second, first], -1) * self.sine


def get_inputs():
    return [torch.randn(2, 6, 16)]


def get_init_inputs():
    return [16]
