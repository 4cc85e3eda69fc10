# A view, as the schema says; there is nothing to launch.
import torch
import triton
import triton.language as tl


def t__default_kernel_impl(x):
    return x if x.dim() < 2 else x.transpose(0, 1)
