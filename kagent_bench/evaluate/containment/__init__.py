"""Containment of an untrusted process: what it may read, write, reach and use up."""

from __future__ import annotations

from kagent_bench.evaluate.containment.environment import clean_environment
from kagent_bench.evaluate.containment.memory import rss_bytes
from kagent_bench.evaluate.containment.policy import ContainmentPolicy, default_policy
from kagent_bench.evaluate.containment.report import ContainmentReport, Step, StepResult, StepState
from kagent_bench.evaluate.containment.sequence import contain
from kagent_bench.evaluate.containment.strays import adopt_strays, end_strays
from kagent_bench.evaluate.containment.system_paths import cuda_shared_files
from kagent_bench.evaluate.containment.trial import harmful_steps, probe

__all__ = [
    "ContainmentPolicy",
    "ContainmentReport",
    "Step",
    "StepResult",
    "StepState",
    "adopt_strays",
    "clean_environment",
    "contain",
    "cuda_shared_files",
    "default_policy",
    "end_strays",
    "harmful_steps",
    "probe",
    "rss_bytes",
]
