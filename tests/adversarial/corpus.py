"""The committed kernels, each with the verdict that it must get.

A kernel is ``<class>/<operator folder>__<name>.py``. Its first lines are comments: the dtypes of the cases that it
is judged on (``float32`` unless given), the verdict with its reason, what else must be so, and what it does::

    # dtypes: float32, float16
    # verdict: incorrect(values)
    # Divides by the number of elements minus two.

Several verdicts are separated by ``|``. ``device: gpu`` marks a kernel whose trick needs a device, ``missing: ...``
one that no case tells from a right one yet, with the case that would.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kagent_bench.model.names import OperatorName

ROOT = Path(__file__).resolve().parent
CLASSES = ("cheats", "faulty", "hostile", "honest")
_KEYS = ("dtypes", "verdict", "device", "missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One committed kernel and what must be said of it."""

    path: Path
    group: str
    """One of ``CLASSES``."""
    operator: OperatorName
    dtypes: tuple[str, ...]
    verdicts: frozenset[tuple[str, str]]
    """Allowed pairs of verdict and reason; a reason ``*`` is any."""
    device: str
    """``any``, or ``gpu`` where the kernel's trick needs a device."""
    missing: str
    """The case that would tell it, where no suite has one; else empty."""

    @property
    def name(self) -> str:
        """Class and file stem."""
        return f"{self.group}/{self.path.stem}"

    def allows(self, verdict: str, reason: str) -> bool:
        """Return whether this is a verdict that the kernel must get."""
        return bool({(verdict, reason), (verdict, "*")} & self.verdicts)


def entries() -> list[Entry]:
    """Return every committed kernel, sorted by class and name."""
    return [_read(path, group) for group in CLASSES for path in sorted((ROOT / group).glob("*.py"))]


def _read(path: Path, group: str) -> Entry:
    facts = {}
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        key, separator, value = line.removeprefix("# ").partition(": ")
        if separator and key in _KEYS:
            facts[key] = value
    folder, _, _ = path.stem.rpartition("__")
    default = "correct" if group == "honest" else ""
    return Entry(
        path=path,
        group=group,
        operator=OperatorName.from_folder(folder),
        dtypes=tuple(facts.get("dtypes", "float32").split(", ")),
        verdicts=frozenset(_verdict(text) for text in facts.get("verdict", default).split(" | ")),
        device=facts.get("device", "any"),
        missing=facts.get("missing", ""),
    )


def _verdict(text: str) -> tuple[str, str]:
    verdict, _, reason = text.strip().removesuffix(")").partition("(")
    if not verdict:
        message = "a kernel that is not honest needs a verdict"
        raise ValueError(message)
    return verdict, reason
