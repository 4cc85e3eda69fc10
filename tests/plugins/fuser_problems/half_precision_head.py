"""A half precision classifier with dropout."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(32, 10).half()

    def forward(self, x):
        return torch.softmax(self.dropout(F.hardswish(self.head(x))), -1)


def get_inputs():
    return [torch.randn(6, 32).half()]


def get_init_inputs():
    return []
