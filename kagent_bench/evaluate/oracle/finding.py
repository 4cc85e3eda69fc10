"""A finding: what one check of one round says, short of passing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.model.verdict import CaseStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a case ends otherwise than passed."""

    status: CaseStatus
    reason: str
    """Reason code."""
    detail: str
    """In words that a kernel author can act on."""
