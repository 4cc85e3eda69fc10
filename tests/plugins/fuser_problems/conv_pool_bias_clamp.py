"""Convolution, maximum pooling, bias, clamp."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3)
        self.bias = nn.Parameter(torch.randn(6, 1, 1))

    def forward(self, x):
        return torch.clamp(F.max_pool2d(self.conv(x), 2) + self.bias, -0.5, 0.5)


def get_inputs():
    return [torch.randn(2, 3, 10, 10)]


def get_init_inputs():
    return []
