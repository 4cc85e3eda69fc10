"""What the driver says of a device's state while it is timed: clocks, temperature, throttling, other processes."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import torch

_IDLE = 0x1
"""nvmlClocksThrottleReasonGpuIdle: no work, no reason to worry."""
_REASONS = {
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
"""NVML's bits, see nvmlClocksEventReasons in NVIDIA's documentation."""


def device_state(device: torch.device) -> dict[str, Any] | None:
    """Return ``sm_clock_mhz``, ``memory_clock_mhz``, ``temperature_c``, ``throttled`` (reasons) and
    ``other_processes`` (those that compute on the device besides kab's); None where nothing can be asked.
    """  # noqa: D205 - one sentence
    if device.type != "cuda" or torch.version.hip:
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = _handle(pynvml, device)
        state: dict[str, Any] = {
            "sm_clock_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
            "memory_clock_mhz": pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM),
            "temperature_c": pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
        }
        with contextlib.suppress(pynvml.NVMLError):
            bits = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle) & ~_IDLE
            state["throttled"] = [name for bit, name in _REASONS.items() if bits & bit]
        with contextlib.suppress(pynvml.NVMLError):
            running = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            state["other_processes"] = sum(not _is_ours(item.pid) for item in running)
    except pynvml.NVMLError:
        return None
    return state


def _handle(pynvml: Any, device: torch.device) -> Any:
    uuid = str(torch.cuda.get_device_properties(device).uuid)
    return pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")


def _is_ours(pid: int) -> bool:
    """Return whether a process descends from the supervisor, the parent of this process's nursery.

    A process in another namespace has a number that means nothing here; it is counted as ours if it is not seen.
    """
    try:
        ours = _parent(os.getppid())
        while pid > 1:
            if pid == ours:
                return True
            pid = _parent(pid)
    except (OSError, ValueError, IndexError):
        return True
    return False


def _parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - procfs, read as it is
        return int(file.read().rpartition(")")[2].split()[1])
