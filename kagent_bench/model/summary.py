"""The result of a run as a value: what every report format renders and what the Python API returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kagent_bench.model.json_values import json_value
from kagent_bench.model.record import SCHEMA_VERSION, CaseRecord
from kagent_bench.model.verdict import FINE, INTERRUPTED, OperatorVerdict

if TYPE_CHECKING:
    from kagent_bench.model.spending import Spending


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
    """Number of cases by status, and ``total`` (their sum), ``strong`` and ``weak`` (passed cases that prove
    something, and nothing), ``filtered`` (those of ``skipped`` that a filter left out before judging)."""
    backendbench: Mapping[str, Any]
    """By BackendBench's convention: ``is_correct``, ``correctness_score``, ``total_tests``, ``passed_tests``,
    ``failed_tests``, ``avg_speedup`` (always None where nothing was timed)."""
    max_abs_error: float | None
    max_rel_error: float | None
    nan_count: int | None = None
    """Most NaN elements in one case that the reference does not have; None where nothing was compared."""
    speedup: float | None
    """Geometric mean over the timed cases that count, of a correct operator; None where there is none. Never 1.0 for
    a failure. Launch-bound and noisy cases do not count."""
    speedup_low: float | None = None
    """Geometric mean of the lower ends of those cases' intervals."""
    speedup_high: float | None = None
    """Of the upper ends."""
    guaranteed_speedup: float | None = None
    """The same with what the supervisor's clock bounds the kernel's time by."""
    speedup_of_all_timed: float | None = None
    """Launch-bound and noisy cases included."""
    compile_speedup: float | None = None
    """Against ``torch.compile``, where that was asked for."""
    speed_of_light_share: float | None = None
    """Geometric mean of the share of the device's peak."""
    timed: Mapping[str, int] = field(default_factory=dict)
    """``cases`` that were timed on a device, ``counted`` ones, and how many carry each note."""
    device: str
    coverage: Mapping[str, float] = field(default_factory=dict)
    """Of a judged module: share of ``operators``, ``flops`` and ``bytes`` that runs in authored kernels."""
    spending: Spending | None = None
    """What language models took to write the kernel, failed attempts at it included; None where unknown."""
    kernel_sha256: str | None
    """None where there is no kernel."""
    kernel_path: str | None

    @property
    def fine(self) -> bool:
        """Whether this operator leaves the exit code at 0."""
        return self.verdict in FINE and self.reason != INTERRUPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A whole run."""

    run: Mapping[str, Any]
    """What ``run.json`` holds: settings with origins, versions, device, suite, times, command, notes; the
    selection as counts; and the run folder as ``folder`` (as it was given) and ``name``."""
    scores: Mapping[str, Any]
    """``ours`` (whole selection and attempted only), ``backendbench``, ``verdicts`` and ``statuses`` counts, and
    ``spending`` (None where no language model wrote)."""
    operators: tuple[OperatorSummary, ...]
    """In the order of the selection."""
    cases: tuple[CaseRecord, ...]
    """One for each selected case, also where nothing was judged, in the order of the selection."""
    warnings: tuple[str, ...] = ()

    def to_json(self, *, cases: bool = False) -> dict[str, Any]:
        """Return the JSON form that ``--json`` prints, valid JSON without NaN or infinities."""
        data: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "run": json_value(self.run),
            "scores": json_value(self.scores),
            "operators": [json_value(item) for item in self.operators],
            "warnings": list(self.warnings),
        }
        if cases:
            data["cases"] = [
                record.to_json() for record in self.cases
            ]  # with raw samples, from which all is derived
        return data
