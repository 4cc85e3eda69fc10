"""The options that commands share: one spelling, one help text, one parameter name.

A parameter is called as the setting is called in ``config.schema``, so that ``cli.invocation`` finds what was
given in the context of the command. None and an empty list mean: not given.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

BaseDir = Annotated[
    list[Path] | None,
    typer.Option(
        "--base-dir",
        "--kernels-dir",
        metavar="DIR",
        show_default=False,
        help="Folder of operator folders, with artefacts and kernels.",
    ),
]
RunDir = Annotated[
    Path | None,
    typer.Option("--run-dir", metavar="DIR", show_default=False, help="Folder of one run's results."),
]
Suite = Annotated[
    str | None,
    typer.Option(
        "--suite", metavar="NAME", show_default=False, help="Suite of operators and cases, see kab list."
    ),
]
Ops = Annotated[
    list[str] | None,
    typer.Option(
        "--ops",
        metavar="A,B",
        show_default=False,
        help="Exact overloads (add.Tensor) or base names (relu); may be repeated.",
    ),
]
Dtype = Annotated[
    list[str] | None,
    typer.Option(
        "--dtype",
        metavar="NAME",
        show_default=False,
        help="Dtype filters, as fp16,fp32; a case is kept if any keeps it; may be repeated.",
    ),
]
NumOperators = Annotated[
    int | None,
    typer.Option(
        "--num-operators",
        metavar="N",
        show_default=False,
        help="Only the first N operators by name; 0 for all.",
    ),
]
CasesPerOperator = Annotated[
    int | None,
    typer.Option(
        "--cases-per-operator",
        metavar="N",
        show_default=False,
        help="At most N cases per operator and dtype, the diverse ones; 0 for all.",
    ),
]
NumWorkers = Annotated[
    int | None,
    typer.Option(
        "--num-workers",
        metavar="N",
        show_default=False,
        help="Kernels generated or judged at a time; 0 for one per core, or one on each GPU, as always where times are taken.",
    ),
]
Workflow = Annotated[
    str | None,
    typer.Option(
        "--workflow", metavar="NAME", show_default=False, help="Generator of the kernels, see kab list."
    ),
]
MaxAttempts = Annotated[
    int | None,
    typer.Option(
        "--max-attempts",
        metavar="N",
        show_default=False,
        help="Kernels that the generator may have judged for one operator; 0 for its own number.",
    ),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", metavar="SECONDS", show_default=False, help="Time for generating one operator."
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        show_default=False,
        help="auto, cuda, cuda:N, xpu, xpu:N or cpu (Triton's interpreter).",
    ),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--devices",
        metavar="A,B",
        show_default=False,
        help="Several devices of this host, one kernel on each at a time, as cuda:0,cuda:1 or all.",
    ),
]
Measure = Annotated[
    bool, typer.Option("--measure", help="Measure the device's bandwidth and matrix rate, and keep them.")
]
Performance = Annotated[
    str | None,
    typer.Option(
        "--performance",
        metavar="auto|on|off",
        show_default=False,
        help="Time the cases that passed: auto on a GPU, on also elsewhere (host times only), off.",
    ),
]
Baseline = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        show_default=False,
        help="What kernels are timed against: eager always, torch-compile beside it.",
    ),
]
KernelTime = Annotated[
    int | None,
    typer.Option(
        "--kernel-time",
        metavar="N",
        show_default=False,
        help="Also time the kernels of N calls by the driver's trace; 0 for none.",
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        show_default=False,
        help="strict rejects kernels that let the library compute; report only labels them.",
    ),
]
CompileTarget = Annotated[
    str | None,
    typer.Option(
        "--compile-target",
        metavar="TARGET",
        show_default=False,
        help="What interpreted kernels must also compile for, as cuda:90:32; none to leave it out.",
    ),
]
Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        show_default=False,
        help="How kernels are spread over workers, see kab list.",
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option("--rounds", metavar="N", show_default=False, help="Rounds of fresh values per case."),
]
CaseTimeout = Annotated[
    float | None,
    typer.Option(
        "--case-timeout", metavar="SECONDS", show_default=False, help="Time for one round of one case."
    ),
]
StartupTimeout = Annotated[
    float | None,
    typer.Option(
        "--startup-timeout", metavar="SECONDS", show_default=False, help="Time for loading a kernel file."
    ),
]
KernelTimeout = Annotated[
    float | None,
    typer.Option(
        "--kernel-timeout", metavar="SECONDS", show_default=False, help="Time for all cases of one kernel."
    ),
]
MemoryLimit = Annotated[
    int | None,
    typer.Option(
        "--memory-limit", metavar="MIB", show_default=False, help="Host memory that a candidate may take."
    ),
]
InterpreterElements = Annotated[
    int | None,
    typer.Option(
        "--interpreter-elements",
        metavar="N",
        show_default=False,
        help="Elements up to which Triton's interpreter is tried on a case; 0 for any number.",
    ),
]
OutputLimit = Annotated[
    int | None,
    typer.Option(
        "--output-limit",
        metavar="KIB",
        show_default=False,
        help="Captured output that is kept of each candidate.",
    ),
]
Tolerance = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="DTYPE=VALUE",
        show_default=False,
        help="Tolerance factor of a dtype (torch's name); may be repeated.",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", show_default=False, help="Configuration file (TOML)."),
]
CaseIds = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="ID", show_default=False, help="Judge only this case; may be repeated."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="A,B",
        show_default=False,
        help="Only cheats, faulty, hostile or honest kernels; may be repeated.",
    ),
]
OnlyKernels = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="A,B",
        show_default=False,
        help="Only shipped kernels with this in their names; may be repeated.",
    ),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        metavar="FILE",
        show_default=False,
        help="Write the report to this file instead of the terminal.",
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="NAME", show_default=False, help="Report format, see kab list; table by default."
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start a new run, never resume one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on standard error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only errors on standard error.")]
WithCases = Annotated[bool, typer.Option("--cases", help="One row per case as well.")]
Force = Annotated[
    bool | None,
    typer.Option(
        "--force/--no-force", show_default=False, help="Generate again where the kernel is up to date."
    ),
]
