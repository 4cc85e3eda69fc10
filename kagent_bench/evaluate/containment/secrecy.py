"""The contained process tries to reach what it must not: the only basis on which secrecy is claimed."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kagent_bench.evaluate.containment.report import Ledger, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the process knew of the world before it was contained."""

    user: int
    """Own effective user id."""
    parent: int
    """Process id of the server that forked it, in the process namespace of that server."""
    secrets: tuple[Path, ...]
    missing: tuple[Path, ...]
    """Secrets that did not exist, whose absence later proves nothing."""


def look_outside(secrets: Iterable[Path]) -> Outside:
    """Note what there is to be tried, before containment.

    A secret that exists and cannot be read even now (another user's) counts as existing.
    """
    known = tuple(secrets)
    return Outside(
        user=os.geteuid(),
        parent=os.getppid(),
        secrets=known,
        missing=tuple(path for path in known if not os.path.lexists(path)),
    )


def _opens(path: Path | str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _writes_beside(path: Path) -> bool:
    probe = path.parent / f".{path.name}.{os.getpid()}.probe"
    try:
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError:
        return False
    probe.unlink()
    return True


def _reachable(outside: Outside, ledger: Ledger) -> list[str]:
    found = [f"{path} can be opened" for path in outside.secrets if _opens(path)]
    found += [f"the folder of {path} can be written to" for path in outside.secrets if _writes_beside(path)]
    # With a /proc and process numbers of its own, the same number is another process.
    if not ledger.has(Step.FRESH_PROC):
        found += [
            f"the server's {name} can be opened"
            for name in ("environ", "maps", "fd")
            if _opens(f"/proc/{outside.parent}/{name}")
        ]
    return found


def verify(outside: Outside, ledger: Ledger) -> str:
    """Return why secrecy does not hold, in words; empty if it does."""
    if not outside.secrets:
        return "not tried: no secret path was given"
    if outside.missing:
        return f"not tried: {outside.missing[0]} does not exist"
    return "; ".join(_reachable(outside, ledger))
