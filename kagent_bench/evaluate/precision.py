"""What float32 means to the library's own products, in the oracle's and in the candidate's process alike."""

from __future__ import annotations

import torch


def full_float32() -> None:
    """Have products and convolutions keep all 24 bits of float32.

    PyTorch's default lets cuDNN round the factors of convolutions to TensorFloat-32, which has 11 bits. Beside such
    a reference no kernel in float32 could win on time, and two correct ones would differ by what rounding chances on.
    """
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
