"""Transposed convolution, scaling, sigmoid."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1)
        self.scale = nn.Parameter(torch.rand(1, 6, 1, 1) + 0.5)

    def forward(self, x):
        return torch.sigmoid(self.conv(x) * self.scale)


def get_inputs():
    return [torch.randn(2, 4, 5, 5)]


def get_init_inputs():
    return []
