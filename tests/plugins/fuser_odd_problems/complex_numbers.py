"""Complex products and angles between real calls."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4, dtype=torch.cfloat))

    def forward(self, x):
        z = torch.complex(x, x.flip(-1)) @ self.w
        return z.abs() * torch.cos(z.angle()), torch.view_as_real(z).exp()


def get_inputs():
    return [torch.randn(3, 4)]


def get_init_inputs():
    return []
