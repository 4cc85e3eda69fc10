"""Convolution in three dimensions, softmax over channels, maximum pooling."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 4, 3)

    def forward(self, x):
        return F.max_pool3d(torch.softmax(self.conv(x), dim=1), 2)


def get_inputs():
    return [torch.randn(1, 2, 6, 6, 6)]


def get_init_inputs():
    return []
