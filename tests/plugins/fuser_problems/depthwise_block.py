"""Depthwise and pointwise convolution with batch normalisation and ReLU6."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.depth = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.point = nn.Conv2d(8, 12, 1)

    def forward(self, x):
        return F.relu6(self.point(F.relu6(self.norm(self.depth(x)))))


def get_inputs():
    return [torch.randn(2, 8, 9, 9)]


def get_init_inputs():
    return []
