"""Every setting that a user can give: where it lives, which flag and variable name it, what it may be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from kagent_bench.model.case import ITEM_BYTES

ENVIRONMENT_PREFIX = "KAB_"
"""Prefix of the environment variables that this program reads."""

TOLERANCE_DTYPES = tuple(name for name in ITEM_BYTES if name.startswith(("float", "bfloat", "complex")))
"""Dtypes that have a tolerance; integers and booleans are compared exactly."""


class Kind(Enum):
    """The form of a value; the text is for messages."""

    TEXT = "a text"
    NAMES = "a list of names"
    WHOLE = "a whole number"
    NUMBER = "a number"
    SWITCH = "true or false"
    FOLDER = "a folder"
    TOLERANCE = "a number per dtype"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One setting."""

    path: str
    """Dotted path in ``config.schema.Settings`` and in a configuration file."""
    kind: Kind
    flag: str | None = None
    """Option of the command line; None where only files and variables can give it."""
    minimum: float | None = None
    above: float | None = None
    """The value must be greater than this."""
    pattern: str | None = None
    """Regular expression that a text, or each name of a list, must match in full."""
    allowed: str = ""
    """What the pattern allows, in words."""

    @property
    def name(self) -> str:
        """Last part of the path, unique among all settings: the name in the Python API."""
        return self.path.rpartition(".")[2]

    @property
    def variable(self) -> str:
        """Environment variable."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    def complaint(self, value: object) -> str | None:
        """Return what is wrong with a value of the right form, or None."""
        if isinstance(value, int | float):
            if self.minimum is not None and value < self.minimum:
                return f"must be at least {self.minimum:g}"
            if self.above is not None and not self.above < value < float("inf"):
                return f"must be a finite number greater than {self.above:g}"
        texts = value if isinstance(value, list | tuple) else [value]
        if self.pattern is not None and any(
            isinstance(text, str) and not re.fullmatch(self.pattern, text) for text in texts
        ):
            return f"must be {self.allowed}"
        return None


_NAME = r"\S+"

KEYS = (
    Key(path="base_dir", kind=Kind.FOLDER, flag="--base-dir"),
    Key(path="run_dir", kind=Kind.FOLDER, flag="--run-dir"),
    Key(path="num_workers", kind=Kind.WHOLE, flag="--num-workers", minimum=0),
    Key(
        path="selection.suite", kind=Kind.TEXT, flag="--suite", pattern=_NAME, allowed="a name without blanks"
    ),
    Key(path="selection.suite_file", kind=Kind.NAMES, flag="--suite-file"),
    Key(path="selection.ops", kind=Kind.NAMES, flag="--ops"),
    Key(path="selection.dtype", kind=Kind.NAMES, flag="--dtype"),
    Key(path="selection.num_operators", kind=Kind.WHOLE, flag="--num-operators", minimum=0),
    Key(path="selection.cases_per_operator", kind=Kind.WHOLE, flag="--cases-per-operator", minimum=0),
    Key(
        path="selection.as_dtype",
        kind=Kind.TEXT,
        flag="--as-dtype",
        pattern="|fp16|bf16|fp32|fp64",
        allowed="fp16, bf16, fp32, fp64, or empty",
    ),
    Key(path="selection.kind", kind=Kind.NAMES, flag="--kind"),
    Key(path="selection.traced_model", kind=Kind.NAMES, flag="--traced-model"),
    Key(path="selection.min_count", kind=Kind.WHOLE, flag="--min-count", minimum=0),
    Key(path="selection.min_bytes", kind=Kind.WHOLE, flag="--min-bytes", minimum=0),
    Key(path="selection.max_bytes", kind=Kind.WHOLE, flag="--max-bytes", minimum=0),
    Key(path="selection.top_n", kind=Kind.WHOLE, flag="--top-n", minimum=0),
    Key(path="selection.sample", kind=Kind.WHOLE, flag="--sample", minimum=0),
    Key(path="selection.sample_seed", kind=Kind.WHOLE, flag="--sample-seed", minimum=0),
    Key(
        path="selection.split",
        kind=Kind.TEXT,
        flag="--split",
        pattern="all|development|held_out",
        allowed="all, development or held_out",
    ),
    Key(
        path="generate.workflow",
        kind=Kind.TEXT,
        flag="--workflow",
        pattern=_NAME,
        allowed="a name without blanks",
    ),
    Key(path="generate.max_attempts", kind=Kind.WHOLE, flag="--max-attempts", minimum=0),
    Key(path="generate.time_limit_s", kind=Kind.NUMBER, flag="--time-limit", above=0),
    Key(path="generate.force", kind=Kind.SWITCH, flag="--force"),
    Key(
        path="evaluate.device",
        kind=Kind.TEXT,
        flag="--device",
        pattern=r"auto|cpu|(cuda|xpu)(:\d+)?",
        allowed="auto, cpu, cuda, cuda:N, xpu or xpu:N",
    ),
    Key(
        path="evaluate.devices",
        kind=Kind.NAMES,
        flag="--devices",
        pattern=r"all|(cuda|xpu):\d+",
        allowed="cuda:N or xpu:N, several with commas, or all",
    ),
    Key(
        path="evaluate.policy",
        kind=Kind.TEXT,
        flag="--policy",
        pattern="strict|report",
        allowed="strict or report",
    ),
    Key(
        path="evaluate.compile_target",
        kind=Kind.TEXT,
        flag="--compile-target",
        pattern=r"none|[a-z]+:[0-9a-z]+:\d+",
        allowed="none, or backend:architecture:threads, as cuda:90:32 or hip:gfx942:64",
    ),
    Key(
        path="evaluate.executor",
        kind=Kind.TEXT,
        flag="--executor",
        pattern=_NAME,
        allowed="a name without blanks",
    ),
    Key(path="evaluate.rounds", kind=Kind.WHOLE, flag="--rounds", minimum=1),
    Key(path="evaluate.case_timeout_s", kind=Kind.NUMBER, flag="--case-timeout", above=0),
    Key(path="evaluate.startup_timeout_s", kind=Kind.NUMBER, flag="--startup-timeout", above=0),
    Key(path="evaluate.kernel_timeout_s", kind=Kind.NUMBER, flag="--kernel-timeout", above=0),
    Key(path="evaluate.memory_limit_mib", kind=Kind.WHOLE, flag="--memory-limit", minimum=1),
    Key(path="evaluate.interpreter_elements", kind=Kind.WHOLE, flag="--interpreter-elements", minimum=0),
    Key(path="evaluate.output_limit_kib", kind=Kind.WHOLE, flag="--output-limit", minimum=1),
    Key(
        path="evaluate.performance",
        kind=Kind.TEXT,
        flag="--performance",
        pattern="auto|on|off",
        allowed="auto, on or off",
    ),
    Key(
        path="evaluate.baseline",
        kind=Kind.NAMES,
        flag="--baseline",
        pattern="eager|torch-compile",
        allowed="eager or torch-compile",
    ),
    Key(path="evaluate.kernel_time_calls", kind=Kind.WHOLE, flag="--kernel-time", minimum=0),
    Key(path="tolerance", kind=Kind.TOLERANCE, flag="--tolerance"),
)
"""Every setting but the generators' own tables, in the order of the schema."""

BY_PATH = {key.path: key for key in KEYS}
BY_NAME = {key.name: key for key in KEYS}
BY_VARIABLE = {key.variable: key for key in KEYS}
