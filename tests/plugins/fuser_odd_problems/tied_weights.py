"""One layer under two names, one weight in two layers, results by name."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 6)
        self.a_again = self.a
        self.b = nn.Linear(6, 6)
        self.b.weight = self.a.weight

    def forward(self, x):
        h = torch.sigmoid(self.a(x))
        return {"h": h, "pair": (self.b(h) * 2, [self.a_again(h) + 1]), "same": h, "none": None}


def get_inputs():
    return [torch.randn(3, 6)]


def get_init_inputs():
    return []
