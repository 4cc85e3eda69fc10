"""Group normalisation and Swish."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        return self.norm(x) * torch.sigmoid(self.norm(x))


def get_inputs():
    return [torch.randn(2, 16, 5, 5)]


def get_init_inputs():
    return []
