"""Views that are written in place, of results and of a buffer."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3, 4))
        self.inner = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True))

    def forward(self, x):
        y = self.inner(x)
        y[:, 1:].mul_(2).relu_()
        self.count[1].add_(y.sum(0))
        self.count.t()[0] += 1
        return y.clamp_(max=3), self.count.sum()


def get_inputs():
    return [torch.randn(5, 4)]


def get_init_inputs():
    return []
