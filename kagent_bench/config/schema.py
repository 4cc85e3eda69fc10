"""The resolved settings: every option of every command, with its type and its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionSettings:
    """Which operators and cases a command is about."""

    suite: str = "smoke"
    """Suite name, see ``kab list``."""
    suite_file: tuple[str, ...] = ()
    """Trace files, or folders of them, in the place of a named suite; problem files where the suite reads these."""
    ops: tuple[str, ...] = ()
    """Exact overloads (``add.Tensor``) or base names (``relu`` is ``relu.default``); empty for all."""
    dtype: tuple[str, ...] = ()
    """Names of dtype filters; a case is kept if any keeps it; empty for all dtypes."""
    num_operators: int = 0
    """Only the first so many operators by name; 0 for all."""
    cases_per_operator: int = 40
    """At most so many cases per operator and dtype, the diverse ones; 0 for all."""
    as_dtype: str = ""
    """Change cases to this floating-point dtype first: ``fp16``, ``bf16``, ``fp32`` or ``fp64``; empty for none."""
    kind: tuple[str, ...] = ()
    """Only operators that are judged so: ``value``, ``view``, ...; empty for all."""
    traced_model: tuple[str, ...] = ()
    """Only calls that these models make; ``*`` stands for anything; empty for all."""
    min_count: int = 0
    """Only calls that were recorded at least so often."""
    min_bytes: int = 0
    """Only cases with at least so many bytes of inputs."""
    max_bytes: int = 0
    """Only cases with at most so many bytes of inputs; 0 for no limit."""
    top_n: int = 0
    """Only the so many cases of each operator with the most bytes of inputs; 0 for all."""
    sample: int = 0
    """Only so many cases of the whole selection, drawn by ``sample_seed``; 0 for all."""
    sample_seed: int = 0
    """Which cases ``sample`` draws."""
    split: str = "all"
    """``development`` cases are shown to generators, ``held_out`` ones never; ``all`` is both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateSettings:
    """How kernels are generated."""

    workflow: str = "baseline"
    """Name of the generator."""
    max_attempts: int = 0
    """Kernels that a generator may have judged for one operator; 0 for the generator's own number."""
    time_limit_s: float = 600.0
    """Seconds for one operator."""
    force: bool = False
    """Generate again where the kernel is up to date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateSettings:
    """How kernels are judged."""

    device: str = "auto"
    """``auto``, ``cuda``, ``cuda:1``, ``xpu`` or ``cpu`` (Triton's interpreter)."""
    devices: tuple[str, ...] = ()
    """Several devices of this host, one kernel on each at a time; ``all`` for all of a kind; over ``device``."""
    policy: str = "strict"
    """``strict`` rejects kernels that let the library compute; ``report`` only labels them."""
    compile_target: str = "cuda:90:32"
    """GPU target that interpreted kernels must compile for: backend, architecture, threads in a warp; ``none``."""
    executor: str = "local"
    """Name of the executor that spreads kernels over workers."""
    rounds: int = 5
    """Rounds of fresh values per case."""
    case_timeout_s: float = 30.0
    """Seconds for one round of one case in the candidate, compilation included."""
    startup_timeout_s: float = 60.0
    """Seconds for loading the kernel file."""
    kernel_timeout_s: float = 900.0
    """Seconds for all cases of one kernel."""
    memory_limit_mib: int = 8192
    """Memory that a candidate may take on top of what it starts with (host memory)."""
    interpreter_elements: int = 1_048_576
    """Elements of inputs and of outputs up to which Triton's interpreter is tried on a case; 0 for any number."""
    output_limit_kib: int = 64
    """Captured output (stdout and stderr) that is kept of each candidate."""
    performance: str = "auto"
    """``auto`` times the cases that passed where there is a GPU; ``on`` records host times elsewhere, which make no
    speedup; ``off`` times nothing."""
    baseline: tuple[str, ...] = ("eager",)
    """What kernels are timed against: ``eager`` always, ``torch-compile`` beside it if named."""
    kernel_time_calls: int = 0
    """Calls whose kernels are also timed by the driver's trace (CUPTI); 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, resolved: default < configuration file < environment < flag."""

    base_dir: Path = Path("generated_kernels")
    """Folder of operator folders."""
    run_dir: Path | None = None
    """Folder of this run's results; None for a new or resumable one in ``log_BackendBench``."""
    num_workers: int = 0
    """Kernels generated or judged at a time; 0 for one per core (CPU) or device, as always where a device's times are taken."""
    selection: SelectionSettings = field(default_factory=SelectionSettings)
    generate: GenerateSettings = field(default_factory=GenerateSettings)
    evaluate: EvaluateSettings = field(default_factory=EvaluateSettings)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    """Tolerance factor per dtype (torch's names), over the suite's and over ``configs/tolerances.toml``."""
    generators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Each generator's own table."""
