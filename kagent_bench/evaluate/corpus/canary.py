"""Planted secrets: a key in the environment of a process and in a file, that no kernel may find."""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PREFIX = "planted-"
"""What the shipped kernel that searches for secrets looks for; a random part follows."""
_HOLD = "import sys; sys.stdin.read()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """A planted secret."""

    folder: Path
    """Holds ``key.txt``; a kernel must not reach it."""
    token: str

    def is_in(self, text: str) -> bool:
        """Return whether somebody found it."""
        return self.token in text


@contextmanager
def planted() -> Iterator[Canary]:
    """Plant a key in a file and in the environment of another process of this user, for as long as this lasts."""
    token = PREFIX + secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="kab-selftest-") as name:
        folder = Path(name)
        (folder / "key.txt").write_text(token)
        holder = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={"OPENAI_API_KEY": token},
        )
        try:
            yield Canary(folder=folder, token=token)
        finally:
            holder.kill()
            holder.communicate()
