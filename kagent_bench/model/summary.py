"""The result of a run as a value: what every report format renders and what the Python API returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.model.record import SCHEMA_VERSION, CaseRecord

if TYPE_CHECKING:
    from kagent_bench.model.verdict import OperatorVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSummary:
    """One selected operator."""

    op_name: str
    verdict: OperatorVerdict
    reason: str
    """Reason code of the first case that led to the verdict; empty for a correct operator."""
    detail: str
    """That case in words."""
    kind: str
    """How the operator can be judged, see ``model.selection.OperatorCases``."""
    counts: Mapping[str, int]
    """Number of cases by status, and ``total``, ``strong`` and ``weak`` (passed cases that prove nothing)."""
    backendbench: Mapping[str, Any]
    """By BackendBench's convention: ``is_correct``, ``correctness_score``, ``total_tests``, ``passed_tests``,
    ``failed_tests``, ``avg_speedup`` (always None where nothing was timed)."""
    max_abs_error: float | None
    max_rel_error: float | None
    speedup: float | None
    """Geometric mean over the timed cases; None where nothing was timed. Never 1.0 for a failure."""
    device: str
    kernel_sha256: str | None
    kernel_path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A whole run."""

    run: Mapping[str, Any]
    """What ``run.json`` holds: settings with origins, versions, device, suite, times, command, notes."""
    scores: Mapping[str, Any]
    """``ours`` (whole selection and attempted only), ``backendbench``, ``verdicts`` and ``statuses`` counts."""
    operators: tuple[OperatorSummary, ...]
    cases: tuple[CaseRecord, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self, *, cases: bool = False) -> dict[str, Any]:
        """Return the JSON form that ``--json`` prints."""
        from dataclasses import asdict  # noqa: PLC0415 - keeps the import light

        data: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "run": dict(self.run),
            "scores": dict(self.scores),
            "operators": [{**asdict(item), "verdict": item.verdict.value} for item in self.operators],
            "warnings": list(self.warnings),
        }
        if cases:
            data["cases"] = [record.to_json() for record in self.cases]
        return data
