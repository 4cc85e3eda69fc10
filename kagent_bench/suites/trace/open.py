"""Opens trace suites: of files that a user names, and of the data that this package ships."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.suites.trace.load import load_traces
from kagent_bench.suites.trace.suite import TraceSuite

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 12
"""Hexadecimal digits of a file's hash that are told."""


def file_suite(names: Sequence[str]) -> TraceSuite:
    """Return the suite of trace files, and of folders of them.

    Raises:
        InputError: a path is missing, or is no trace by its name.
        UsageError: a Parquet file, and pyarrow is not installed.
    """
    loaded = load_traces([Path(name) for name in names])
    digest = hashlib.sha256()
    for name in loaded.files:
        digest.update(Path(name).read_bytes())
    what = f"{len(loaded.files)} files" if len(loaded.files) > 1 else loaded.files[0]
    where = f" of {', '.join(names)}" if len(loaded.files) > 1 else ""
    about = f"data: {what}{where}, sha256 {digest.hexdigest()[:DIGITS]}"
    return TraceSuite(lambda: loaded, about)
