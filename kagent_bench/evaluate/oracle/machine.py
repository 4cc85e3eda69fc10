"""What machine this is: the device under test, resolved once, with the versions that a verdict depends on."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch

from kagent_bench.errors import UsageError

INTERPRETER_NAME = "cpu (Triton interpreter)"
"""How a machine without a GPU is called in every result."""


def describe_machine(wanted: str) -> dict[str, Any]:
    """Resolve a device setting.

    Args:
        wanted: ``auto``, ``cpu``, or torch's device string such as ``cuda:1`` or ``xpu``.

    Returns:
        ``kind`` (``cuda``, ``rocm``, ``xpu``, ``cpu``), ``torch_device``, ``name``, ``interpreter``,
        ``memory_bytes`` (of the device), ``identity`` (the same for all processes of this host),
        ``devices`` (all of its kind), ``versions``.

    Raises:
        UsageError: the device is not there.
    """
    torch_device = _resolve(wanted)
    kind = torch_device.partition(":")[0]
    if kind == "cuda":
        properties = torch.cuda.get_device_properties(torch_device)
        name, memory = properties.name, properties.total_memory
        kind = "rocm" if torch.version.hip else "cuda"
    elif kind == "xpu":
        xpu = torch.xpu.get_device_properties(torch_device)
        name, memory = xpu.name, xpu.total_memory
    else:
        name, memory = INTERPRETER_NAME, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "kind": kind,
        "torch_device": torch_device,
        "name": name,
        "interpreter": kind == "cpu",
        "memory_bytes": memory,
        "identity": _identity(torch_device),
        "devices": _devices(kind),
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
    }


def _identity(torch_device: str) -> str:
    if torch_device.startswith("cuda"):
        return str(getattr(torch.cuda.get_device_properties(torch_device), "uuid", torch_device))
    return torch_device


def _devices(kind: str) -> list[str]:
    plain = "cuda" if kind == "rocm" else kind
    if plain == "cpu":
        return ["cpu"]
    return [f"{plain}:{index}" for index in range(getattr(torch, plain).device_count())]


def _resolve(wanted: str) -> str:
    available = [kind for kind in ("cuda", "xpu") if getattr(torch, kind).is_available()]
    if wanted == "auto":
        return f"{available[0]}:0" if available else "cpu"
    kind, _, index = wanted.partition(":")
    if kind == "cpu" and not index:
        return "cpu"
    if kind in available and (
        not index or (index.isdigit() and int(index) < getattr(torch, kind).device_count())
    ):
        return f"{kind}:{index or 0}"
    message = f"there is no device '{wanted}' (asked for by --device)"
    raise UsageError(message, hint="available: " + ", ".join(["cpu", *available]))
