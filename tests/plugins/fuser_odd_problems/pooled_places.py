"""Pooling whose indices are used, with padding and dilation, and unpooling that takes them."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        values, places = F.max_pool2d(x, (3, 2), (2, 1), padding=(1, 0), dilation=(1, 2), return_indices=True)
        pooled, inside = F.max_pool2d(x, 2, return_indices=True)
        return values * 2, places, F.max_unpool2d(torch.tanh(pooled), inside, 2)


def get_inputs():
    return [torch.randn(2, 3, 6, 8)]


def get_init_inputs():
    return []
