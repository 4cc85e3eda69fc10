"""Two linear layers with GELU between them."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(24, 48)
        self.down = nn.Linear(48, 24)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def get_inputs():
    return [torch.randn(6, 24)]


def get_init_inputs():
    return []
