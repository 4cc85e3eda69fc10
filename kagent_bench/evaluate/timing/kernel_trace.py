"""Kernel-only time: what the driver's own tracing (CUPTI) says that a call's kernels took on the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from kagent_bench.evaluate.timing.stopwatch import Stopwatch


def kernel_seconds(call: Callable[[], Any], watch: Stopwatch, n_calls: int) -> float | None:
    """Return the mean seconds of all kernels of one call, the cache emptied before each; None without a device.

    Copies and fills that the call makes on the device are kernels of it too. The work of emptying the cache is
    told apart by its place: it is launched outside of the marked range.
    """
    if not watch.on_gpu:
        return None
    from torch.profiler import ProfilerActivity, profile

    call()
    torch.cuda.synchronize()
    total_us = 0.0
    for _ in range(n_calls):
        watch.empty_cache()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as traced:
            call()
            torch.cuda.synchronize()
        total_us += sum(
            event.device_time if hasattr(event, "device_time") else event.cuda_time
            for event in traced.events()
            if event.device_type.name == "CUDA"
        )
    return total_us * 1e-6 / n_calls
