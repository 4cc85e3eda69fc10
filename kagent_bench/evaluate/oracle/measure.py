"""What a device reaches: its memory bandwidth in a large copy, its matrix rate in a large product."""

from __future__ import annotations

from typing import Any

import torch

from kagent_bench.evaluate.timing.stopwatch import Stopwatch

COPIED_BYTES = 2 << 30
"""Far more than any cache."""
PRODUCT_SIZE = 8192
"""Rows, columns and inner size of the square matrices."""
DTYPES = ("float16", "bfloat16", "float32")
REPEATS = 10


def measure(device: torch.device) -> dict[str, Any]:
    """Measure a device.

    Returns:
        ``bytes_per_s`` (read and written bytes of a copy) and ``flops_per_s`` by dtype, on random values, which draw
        more power than zeros.
    """
    watch = Stopwatch(device)
    source = torch.empty(COPIED_BYTES, dtype=torch.uint8, device=device).random_(0, 256)
    target = torch.empty_like(source)
    copy_s = watch.repeated(lambda: target.copy_(source), REPEATS)
    rates = {}
    for name in DTYPES:
        left, right = (
            torch.randn(PRODUCT_SIZE, PRODUCT_SIZE, device=device).to(getattr(torch, name)) for _ in range(2)
        )
        seconds = watch.repeated(lambda left=left, right=right: torch.mm(left, right), REPEATS)  # type: ignore[misc]
        rates[name] = 2 * PRODUCT_SIZE**3 / seconds
    return {"bytes_per_s": 2 * COPIED_BYTES / copy_s, "flops_per_s": rates}
