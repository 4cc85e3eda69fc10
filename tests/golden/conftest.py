"""Lets a person accept changed golden files: ``pytest tests/golden --accept-golden``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag; it exists where this folder is named on the command line."""
    parser.addoption("--accept-golden", action="store_true", help="store what the reports look like now")
