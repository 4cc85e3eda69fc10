"""Peak rates of known devices: ``configs/devices.toml``, with what ``kab doctor --measure`` stored over it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.config.environment import cache_root
from kagent_bench.config.files import configs_dir, read_toml
from kagent_bench.stores.atomic import write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """What a device can do at most."""

    bytes_per_s: float
    """Memory bandwidth."""
    flops_per_s: Mapping[str, float]
    """Dense rate of the fastest unit per dtype, torch's names."""
    source: str
    """Where the figures come from."""

    def flops(self, dtype: str) -> float | None:
        """Return the rate for a dtype, None if there is none."""
        return self.flops_per_s.get(dtype)


def peaks_of(device_name: str) -> Peaks | None:
    """Return the peaks of a device by its driver's name, None for an unknown one.

    The longest entry whose name occurs in the device's is taken. A measured bandwidth or rate stands where it is
    above the stored one: nothing is faster than its peak.
    """
    table: Mapping[str, Any] = read_toml(configs_dir() / "devices.toml")
    names = [name for name in table if name.lower() in device_name.lower()]
    measured = read_measured().get(device_name)
    if not names and measured is None:
        return None
    entry: Mapping[str, Any] = (
        table[max(names, key=len)] if names else {"bytes_per_s": 0.0, "flops_per_s": {}, "source": ""}
    )
    rates: dict[str, float] = {name: float(rate) for name, rate in entry["flops_per_s"].items()}
    bandwidth, source = float(entry["bytes_per_s"]), str(entry["source"])
    if measured is not None:
        source = f"{source}; measured here" if source else "measured here"
        bandwidth = max(bandwidth, float(measured["bytes_per_s"]))
        for dtype, rate in measured["flops_per_s"].items():
            rates[dtype] = max(rates.get(dtype, 0.0), float(rate))
    return Peaks(bytes_per_s=bandwidth, flops_per_s=rates, source=source)


def measured_file() -> Path:
    """Return where measured peaks are kept."""
    return cache_root() / "kagent-bench" / "devices.json"


def read_measured() -> Mapping[str, Any]:
    """Return the measured peaks by device name; empty if there are none."""
    try:
        data = json.loads(measured_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def store_measured(device_name: str, bytes_per_s: float, flops_per_s: Mapping[str, float]) -> None:
    """Keep what was measured on a device."""
    data = {**read_measured(), device_name: {"bytes_per_s": bytes_per_s, "flops_per_s": dict(flops_per_s)}}
    path = measured_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, data)
