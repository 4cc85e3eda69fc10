"""Two convolutions with group normalisation and a skip connection."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.skip = nn.Conv2d(4, 8, 1)

    def forward(self, x):
        y = self.second(F.silu(self.norm(self.first(x))))
        return y + self.skip(x)


def get_inputs():
    return [torch.randn(2, 4, 8, 8)]


def get_init_inputs():
    return []
