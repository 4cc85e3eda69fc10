"""One process at a time times a device: a file lock, which ends with its holder and so is never stale."""

from __future__ import annotations

import contextlib
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.stores.atomic import file_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 600.0
"""Seconds to wait for another process to finish timing one case."""


def lock_path(device_identity: str) -> Path:
    """Return the lock file of a device, the same for all users and environments of this machine."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", device_identity)
    return Path(tempfile.gettempdir()) / f"kagent-bench-{name}.lock"


@contextlib.contextmanager
def device_lock(path: Path) -> Iterator[None]:
    """Hold a device for timing.

    Raises:
        UsageError: another process has held it for ``WAIT_S``; the message names the file.
    """
    with file_lock(path, timeout_s=WAIT_S, purpose="the device for timing", shared=True):
        yield
