"""How judging a case ended, and the record that is kept of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kagent_bench.model.call_text import call_text
from kagent_bench.model.record import CaseRecord
from kagent_bench.model.verdict import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.evaluate.compile_check import LaunchKind
    from kagent_bench.model.case import Case
    from kagent_bench.model.timing import CaseTiming

MAX_DETAIL_CHARACTERS = 4000
"""Bound of what is kept of a candidate's words for one case."""
MAX_CALL_NAMES = 50
"""Names of library calls that are kept for one case."""
MIN_PROOF_ELEMENTS = 16
"""Elements of the largest input from which a result that is right without launches is no accident: half of the
values of a ReLU are the zeros that an honest kernel may start from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a case ended."""

    status: CaseStatus
    reason: str = ""
    detail: str = ""
    tally: Mapping[str, Any] = field(default_factory=dict)
    first_call_s: float | None = None
    timing: CaseTiming | None = None
    untimed: str = ""
    kinds: frozenset[LaunchKind] = frozenset()
    """The launches of the first round, as the candidate names them."""
    call: Mapping[str, Any] | None = None
    """The oracle's description of the call."""
    compile_check: str = ""
    """What came of compiling the launches, see ``model.record.CaseRecord``."""


def record_of(
    case: Case, ended: Ended, *, key: str, kernel_sha256: str, device: str, duration_s: float
) -> CaseRecord:
    """Return what is stored of a case: whoever's words are in it, within bounds."""
    tally = ended.tally
    return CaseRecord(
        key=key,
        op_name=str(case.operator),
        case_id=case.id,
        kernel_sha256=kernel_sha256,
        status=ended.status,
        reason=ended.reason,
        detail=_plain(ended.detail),
        dtype=case.dtype,
        origin=case.origin,
        held_out=case.held_out,
        strong=not tally.get("survivors"),
        survivors=tuple(tally.get("survivors", ())),
        call=call_text(case),
        device=device,
        rounds=tally.get("rounds", 0),
        dropped_rounds=tuple(tally.get("dropped", ())),
        max_abs_error=tally.get("max_abs_error"),
        max_rel_error=tally.get("max_rel_error"),
        nan_count=tally.get("nan_count"),
        tolerance=tally.get("tolerance"),
        backendbench_passed=tally.get("backendbench_passed"),
        deterministic=tally.get("deterministic"),
        launches=tally.get("launches"),
        compile_check=_plain(ended.compile_check),
        library_calls=tuple(map(_plain, tally.get("library_calls", ())[:MAX_CALL_NAMES])),
        first_call_s=ended.first_call_s,
        duration_s=duration_s,
        timing=ended.timing,
        untimed=_plain(ended.untimed),
        **{f"coverage_{name}": share for name, share in tally.get("coverage", {}).items()},
    )


def is_proof(case: Case, ended: Ended) -> bool:
    """Return whether a case passed on which no control output passes, with launches, and not by chance.

    A replay draws values of its own: of one element, what a kernel fills its output with beforehand may be right.
    """
    return (
        max((storage.numel for storage in case.storages), default=0) >= MIN_PROOF_ELEMENTS
        and ended.status is CaseStatus.PASSED
        and not ended.tally.get("survivors")
        and bool(ended.tally.get("launches"))
    )


def _plain(text: str, limit: int = MAX_DETAIL_CHARACTERS) -> str:
    """Return a candidate's words so that every file and terminal takes them: bounded, without lone surrogates."""
    cut = text if len(text) <= limit else f"{text[:limit]} [{len(text) - limit} more characters]"
    return cut.encode("utf-8", "replace").decode().replace("\0", "?")
