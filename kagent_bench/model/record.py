"""The record of one judged case, as it is stored; everything else in a report is derived from these."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from kagent_bench.model.timing import CaseTiming
from kagent_bench.model.verdict import CaseStatus, JudgedCase

SCHEMA_VERSION = 1
"""Version of every stored record and of the JSON report; an unknown one is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRecord:
    """One kernel on one case."""

    key: str
    """Identity: hash of kernel, case, device, versions and settings. A known key is not judged again."""
    op_name: str
    case_id: str
    kernel_sha256: str
    status: CaseStatus
    reason: str = ""
    """Reason code, empty for a passed case."""
    detail: str = ""
    """What a kernel author can act on: where, how much, which element, which input."""
    dtype: str
    origin: str
    held_out: bool
    strong: bool = True
    """Whether the control outputs fail on this case; a pass on a case that is not strong proves nothing."""
    survivors: tuple[str, ...] = ()
    """Controls (``zeros``, ``ones``, ``input``, ``shuffled``) that also pass on this case; empty if it is strong."""
    call: str
    """The call in words, with tensors as ``T([shape], dtype, [stride])``."""
    device: str
    """``cpu (Triton interpreter)`` or the device's name."""
    rounds: int = 0
    """Rounds of fresh values that were judged."""
    dropped_rounds: tuple[str, ...] = ()
    """Distributions under which eager itself raises or returns only NaN."""
    max_abs_error: float | None = None
    """Largest elementwise error against the float64 reference; None where nothing was compared."""
    max_rel_error: float | None = None
    """Largest elementwise error over the reference's magnitude, where that is not zero."""
    nan_count: int | None = None
    """NaN elements that the reference does not have, in the worst round."""
    tolerance: float | None = None
    """The factor that was used, see ``configs/tolerances.toml``."""
    backendbench_passed: bool | None = None
    """BackendBench's own verdict (``assert_close`` at 1e-2), for comparison."""
    deterministic: bool | None = None
    """Whether a repeated call gave the same bits."""
    launches: int | None = None
    """Kernels of the file that were launched, as seen from inside the candidate (evidence, not proof)."""
    library_calls: tuple[str, ...] = ()
    """Computing ATen operators that the candidate called, as seen from inside it."""
    compile_check: str = ""
    """What came of compiling interpreted launches for ``evaluate.compile_target``: ``compiled``, ``fails: why``,
    ``unavailable: why``; empty where nothing was tried. Evidence, not proof."""
    coverage_operators: float | None = None
    """Of a module: share of its computing operators that run in the kernel's own launches, the others being declared
    to stay with the library; None for an operator."""
    coverage_flops: float | None = None
    """The same as a share of floating-point operations."""
    coverage_bytes: float | None = None
    """The same as a share of bytes moved."""
    first_call_s: float | None = None
    """Host time of the first call on this case, compilation included."""
    duration_s: float = 0.0
    """Time that judging took, all rounds."""
    timing: CaseTiming | None = None
    """How fast it is, of a passed case that was timed."""
    untimed: str = ""
    """Why a passed case was not timed though timing was asked for: a reason code, a colon, words."""

    def judged(self) -> JudgedCase:
        """Return what the verdict rule needs."""
        return JudgedCase(status=self.status, reason=self.reason, survivors=frozenset(self.survivors))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; an infinity or NaN, which JSON lacks, becomes its name as text."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _NAMES}
        for name in _FLOATS:
            if data[name] is not None and not math.isfinite(data[name]):
                data[name] = repr(float(data[name]))
        data["status"] = self.status.value
        data["dropped_rounds"] = list(self.dropped_rounds)
        data["library_calls"] = list(self.library_calls)
        data["survivors"] = list(self.survivors)
        data["timing"] = self.timing.to_json() if self.timing else None
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CaseRecord:
        """Read the JSON form.

        Raises:
            TypeError, KeyError, ValueError: the data is not a record.
        """
        known = dict(data)
        known["status"] = CaseStatus(known["status"])
        known["dropped_rounds"] = tuple(known.get("dropped_rounds", ()))
        known["library_calls"] = tuple(known.get("library_calls", ()))
        known["survivors"] = tuple(known.get("survivors", ()))
        if known.get("timing") is not None:
            known["timing"] = CaseTiming.from_json(known["timing"])
        for name in _FLOATS:
            if isinstance(known.get(name), str):
                known[name] = float(known[name])
        return cls(**known)


_NAMES = tuple(item.name for item in fields(CaseRecord))
_FLOATS = tuple(item.name for item in fields(CaseRecord) if "float" in str(item.type))
