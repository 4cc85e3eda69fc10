"""Peak rates of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kagent_bench.config.files import configs_dir, read_toml
from kagent_bench.evaluate.timing.peaks import peaks_of, store_measured

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("name", "bytes_per_s"),
    [
        ("NVIDIA H200", 4.8e12),
        ("NVIDIA H100 80GB HBM3", 3.35e12),
        ("NVIDIA H100 PCIe", 2.0e12),
        ("NVIDIA A100-SXM4-40GB", 1.555e12),
        ("NVIDIA GeForce RTX 4090", 1.008e12),
        ("AMD Instinct MI300X", 5.3e12),
    ],
)
def test_a_device_is_known_by_its_drivers_name(name: str, bytes_per_s: float) -> None:
    """The longest entry that occurs in the name."""
    peaks = peaks_of(name)
    assert peaks is not None
    assert bytes_per_s == peaks.bytes_per_s
    assert peaks.flops("float16")


def test_an_unknown_device_has_none() -> None:
    """No peak is made up."""
    assert peaks_of("cpu (Triton interpreter)") is None


def test_what_was_measured_raises_a_peak_and_lowers_none() -> None:
    """Nothing is faster than its peak; a slow measurement says nothing about it."""
    store_measured("NVIDIA H200", 5.0e12, {"float32": 1.0, "float16": 2e15})
    peaks = peaks_of("NVIDIA H200")
    assert peaks is not None
    assert 5.0e12 == peaks.bytes_per_s
    assert 67e12 == peaks.flops("float32")
    assert 2e15 == peaks.flops("float16")


def test_a_measured_device_needs_no_entry() -> None:
    """A card that is in no table can be measured."""
    store_measured("Some card", 1e12, {"float32": 1e13})
    peaks = peaks_of("Some card")
    assert peaks is not None
    assert (1e12, 1e13, "measured here") == (peaks.bytes_per_s, peaks.flops("float32"), peaks.source)


def test_every_entry_has_a_source() -> None:
    """No figure without where it comes from."""
    for name, entry in read_toml(configs_dir() / "devices.toml").items():
        assert entry["source"], name
        assert entry["bytes_per_s"] > 0
        assert all(rate > 0 for rate in entry["flops_per_s"].values())
