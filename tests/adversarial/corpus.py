"""The committed kernels: those that come with the program, and the rest beside this file."""

from __future__ import annotations

from pathlib import Path

from kagent_bench.evaluate.corpus import entries as shipped
from kagent_bench.evaluate.corpus.entries import CLASSES, Entry

__all__ = ["CLASSES", "Entry", "entries"]

ROOT = Path(__file__).resolve().parent


def entries() -> list[Entry]:
    """Return every committed kernel, sorted by class and name."""
    found = [*shipped.entries(), *shipped.entries(ROOT)]
    return sorted(found, key=lambda entry: (CLASSES.index(entry.group), entry.name))
