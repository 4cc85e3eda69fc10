"""Names the kind of device that kernels are generated for."""

from __future__ import annotations

AUTO = "auto"


def device_kind(device: str) -> str:
    """Return ``cuda``, ``rocm``, ``xpu`` or ``cpu``.

    Args:
        device: The setting: ``auto``, or a torch device such as ``cuda:1``.
    """
    import torch

    kind = device.partition(":")[0]
    if kind == AUTO:
        kind = "cuda" if torch.cuda.is_available() else "xpu" if torch.xpu.is_available() else "cpu"
    return "rocm" if kind == "cuda" and torch.version.hip else kind
