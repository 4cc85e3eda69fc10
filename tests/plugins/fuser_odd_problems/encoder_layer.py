"""A class of PyTorch whose attention is looked at as its fastest algorithm returns it."""

import torch
from torch.nn import TransformerEncoderLayer as Model


def get_inputs():
    return [torch.randn(2, 5, 16)]


def get_init_inputs():
    return [[16, 2, 32], {"batch_first": True}]
