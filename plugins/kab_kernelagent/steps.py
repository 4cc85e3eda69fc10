"""What becomes of one exchange with a model, as a value that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kagent_bench.model.verdict import OperatorVerdict

JUDGED, LACKING = "judged", "lacking"
FINAL_VERDICTS = frozenset({OperatorVerdict.CORRECT.value, OperatorVerdict.NOT_JUDGED.value})
"""Verdicts that no further attempt can better: the kernel is right, or this machine cannot tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One exchange and what was made of it."""

    dialogue: int
    """From 1."""
    number: int
    """Of the exchange in its dialogue, from 1."""
    result: str
    """``judged``, or ``lacking``: there was nothing to judge."""
    lack: str = ""
    """What the reply lacked: a ``code.extract.Lack``, or ``refused``."""
    detail: str = ""
    """The lack in words."""
    source: str = ""
    """The kernel that was judged."""
    verdict: str = ""
    feedback: str = ""
    repeated: bool = False
    """Whether the kernel had been judged before, so that nobody was asked."""
    speedup: float | None = None
    """Over eager; None where nothing was timed."""
    timing: str = ""
    """The slowest cases in words."""

    @property
    def final(self) -> bool:
        """Whether the dialogue can end with this kernel."""
        return self.verdict in FINAL_VERDICTS

    @property
    def correct(self) -> bool:
        """Whether the evaluator accepted the kernel."""
        return self.verdict == OperatorVerdict.CORRECT.value

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Step:
        """Read the JSON form.

        Raises:
            TypeError: the data is no step.
        """
        return cls(**data)
