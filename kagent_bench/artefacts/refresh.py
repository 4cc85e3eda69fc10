"""Writes a file only where its content differs, whole or not at all, so that a second setup changes nothing.

These files can be made again at any time, so they are renamed into place without waiting for the disk.
"""

from __future__ import annotations

import os
import tempfile
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_FILE_MODE = 0o644
"""Mode of an artefact: generators of other users may read it."""


class Change(str, Enum):
    """What happened to a file."""

    WRITTEN = "written"
    """It is new."""
    REFRESHED = "refreshed"
    """It had another content."""
    UNCHANGED = "unchanged"
    """It was not touched."""


def refresh(path: Path, text: str) -> Change:
    """Give a file this content; neither bytes nor time of an equal file change.

    Args:
        path: The file; its folder must exist. A symbolic link is replaced, not followed.
        text: The whole content, written as UTF-8.

    Raises:
        OSError: the file cannot be read or written; the old content is untouched.
    """
    data = text.encode()
    exists = path.is_symlink() or path.exists()
    if exists and not path.is_symlink() and path.read_bytes() == data:
        return Change.UNCHANGED
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, _FILE_MODE)
            file.write(data)
        os.replace(temporary, path)  # noqa: PTH105 - mkstemp gives a plain name
    except BaseException:
        os.unlink(temporary)  # noqa: PTH108 - as above
        raise
    return Change.REFRESHED if exists else Change.WRITTEN
