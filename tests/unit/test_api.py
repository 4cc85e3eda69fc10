"""The names of the Python API."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import kagent_bench
from kagent_bench.errors import InputError


@pytest.mark.parametrize("name", ["evaluate", "generate", "report"])
def test_a_phase_is_callable_also_when_its_package_was_imported(name: str) -> None:
    """Importing a package of the same name does not take the function away."""
    importlib.import_module(f"kagent_bench.{name}")
    assert callable(getattr(kagent_bench, name))


def test_the_call_reaches_the_api(tmp_path: Path) -> None:
    """The package hands its arguments on."""
    importlib.import_module("kagent_bench.report")
    with pytest.raises(InputError):
        kagent_bench.report(tmp_path / "no-run")
