"""Matrix product, logarithm of a sum of exponentials, Mish."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 20)

    def forward(self, x):
        y = torch.logsumexp(self.linear(x) * 0.5, dim=1, keepdim=True)
        return F.mish(y) * 2.0


def get_inputs():
    return [torch.randn(6, 16)]


def get_init_inputs():
    return []
