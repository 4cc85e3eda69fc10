"""The agent's version."""

from __future__ import annotations

VERSION = "2"
"""Raised when the same replies may lead to another kernel."""
