# verdict: incorrect(missing_function)
# A file without the function.
import torch
import triton
import triton.language as tl


def another(x):
    return x
