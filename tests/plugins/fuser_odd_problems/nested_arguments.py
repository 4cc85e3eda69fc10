"""Arguments that are sequences, numbers and nothing."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x, alpha, flag, state, sizes, nothing=None):
        h, (c, d) = state
        y = x * alpha + (h - c if flag else d)
        y = y.reshape(*sizes) * d
        return F.hardswish(y) if nothing is None else y


def get_inputs():
    return [
        torch.randn(4, 6),
        0.75,
        True,
        [torch.randn(4, 6), (torch.randn(6), torch.randn(8))],
        (3, 8),
        None,
    ]


def get_init_inputs():
    return []
