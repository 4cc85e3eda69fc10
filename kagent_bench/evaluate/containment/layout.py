"""How the allowed paths are laid out in a new root: folders, mount points, links; worked out once per server."""

# ruff: noqa: PTH110, PTH112, PTH114, PTH115, PTH118, PTH120
# Plain strings: a new root is a matter of prefixes and of microseconds.

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_MAX_LINKS = 40
"""As many links as the kernel follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What to make in an empty root, in this order."""

    folders: tuple[str, ...]
    """Folders to make, each after its parent."""
    files: tuple[str, ...]
    """Empty files to make, as mount points of files."""
    links: tuple[tuple[str, str], ...]
    """Symbolic links to make, each with its target."""
    binds: tuple[str, ...]
    """Existing paths to show under the same name; none lies in another."""


def follow(path: str, links: dict[str, str]) -> str:
    """Return the path without links that a path leads to, and note the links on the way."""
    for _ in range(_MAX_LINKS):
        partial = ""
        for part in path.split("/")[1:]:
            partial += "/" + part
            if os.path.islink(partial):
                target = os.readlink(partial)
                links[partial] = target
                joined = os.path.join(os.path.dirname(partial), target) + path[len(partial) :]
                path = os.path.normpath(joined)
                break
        else:
            return path
    return path


def _ancestors(path: str) -> list[str]:
    """Return the folders above a path, outermost first, without the root."""
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


def _inside(path: str, folders: Iterable[str]) -> bool:
    return any(path.startswith(folder + "/") for folder in folders)


@functools.lru_cache(maxsize=4)
def lay_out(paths: tuple[Path, ...]) -> Layout:
    """Return the layout for paths; those that do not exist are left out.

    The result is remembered: the paths are taken to be those of an installation, which does not change.
    """
    links: dict[str, str] = {}
    real = sorted({follow(str(path), links) for path in paths})
    existing = [path for path in real if os.path.exists(path)]
    binds = [path for path in existing if not _inside(path, existing)]
    outside = {link: target for link, target in links.items() if not _inside(link, binds)}
    folders: dict[str, None] = {}
    for path in (*binds, *outside):
        folders.update(dict.fromkeys(_ancestors(path)))
    folders.update(dict.fromkeys(path for path in binds if os.path.isdir(path)))
    return Layout(
        folders=tuple(sorted(folders, key=lambda path: path.count("/"))),
        files=tuple(path for path in binds if not os.path.isdir(path)),
        links=tuple(outside.items()),
        binds=tuple(binds),
    )
