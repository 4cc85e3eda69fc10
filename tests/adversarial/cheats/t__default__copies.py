# verdict: incorrect(aliasing)
# Returns a copy where the schema says that the result looks at the input (28).
import torch
import triton
import triton.language as tl


def t__default_kernel_impl(x):
    return (x if x.dim() < 2 else x.transpose(0, 1)).clone()
