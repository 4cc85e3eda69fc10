# verdict: incorrect(signature)
# A function with another number of parameters.
import torch
import triton
import triton.language as tl


def relu__default_kernel_impl(x, y, z):
    return x
