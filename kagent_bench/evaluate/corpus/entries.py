"""Committed kernels, each with the verdict that it must get.

A kernel is ``<class>/<operator folder>__<name>.py``, with ``.txt`` behind it where it is data. Its first lines are
comments: the dtypes of the cases that it is judged on (``float32`` unless given), the verdict with its reason, which
property of the evaluator it shows, what else must be so, and what it does::

    # dtypes: float32, float16
    # verdict: incorrect(values)
    # shows: every element has its bound
    # Divides by the number of elements minus two.

Several verdicts are separated by ``|``. ``device: gpu`` marks a kernel whose trick needs a device, ``missing: ...``
one that no case tells from a right one yet, with the case that would.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kagent_bench.model.names import OperatorName

SHIPPED = Path(__file__).resolve().with_name("kernels")
"""The kernels that come with the program."""
CLASSES = ("cheats", "faulty", "hostile", "honest")
HONEST = "honest"
WRONG = frozenset({"crashed", "timeout", "rejected", "incorrect"})
"""Verdicts with which a kernel is told from a right one."""
_KEYS = ("dtypes", "verdict", "shows", "device", "missing")


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
    shows: str
    """The property of the evaluator that the kernel tries; empty if it is not one of those shipped."""
    device: str
    """``any``, or ``gpu`` where the kernel's trick needs a device."""
    missing: str
    """The case that would tell it, where no suite has one; else empty."""

    @property
    def name(self) -> str:
        """Class and file stem."""
        return f"{self.group}/{_stem(self.path)}"

    def allows(self, verdict: str, reason: str, *, compiled: bool = False) -> bool:
        """Return whether this is a verdict that the kernel must get.

        Args:
            verdict: the verdict.
            reason: its reason code.
            compiled: whether kernels ran on a device. A trick that is none of a device's may fail there otherwise
                than in the interpreter: that it is told is what counts.
        """
        if compiled and self.group != HONEST and self.device == "any" and verdict in WRONG:
            return True
        return bool({(verdict, reason), (verdict, "*")} & self.verdicts)


def entries(root: Path = SHIPPED) -> list[Entry]:
    """Return every kernel of a folder of classes, sorted by class and name."""
    return [
        _read(path, group)
        for group in CLASSES
        for path in sorted((root / group).glob("*"))
        if path.name.endswith((".py", ".py.txt"))
    ]


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def _read(path: Path, group: str) -> Entry:
    facts = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        key, separator, value = line.removeprefix("# ").partition(": ")
        if separator and key in _KEYS:
            facts[key] = value
    folder, _, _ = _stem(path).rpartition("__")
    default = "correct" if group == HONEST else ""
    return Entry(
        path=path,
        group=group,
        operator=OperatorName.from_folder(folder),
        dtypes=tuple(facts.get("dtypes", "float32").split(", ")),
        verdicts=frozenset(_verdict(text) for text in facts.get("verdict", default).split(" | ")),
        shows=facts.get("shows", ""),
        device=facts.get("device", "any"),
        missing=facts.get("missing", ""),
    )


def _verdict(text: str) -> tuple[str, str]:
    verdict, _, reason = text.strip().removesuffix(")").partition("(")
    if not verdict:
        message = "a kernel that is not honest needs a verdict"
        raise ValueError(message)
    return verdict, reason
