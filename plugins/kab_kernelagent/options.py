"""The agent's options: what ``[generators.kernelagent]`` and the flags may say."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.hooks.options import GeneratorOption

if TYPE_CHECKING:
    from collections.abc import Mapping

AUTO = "auto"
OPENAI, ANTHROPIC = "openai", "anthropic"
BUILTIN, UPSTREAM = "builtin", "upstream"

DECLARED = (
    GeneratorOption(name="model", default="", summary="Name of the language model; there is no default."),
    GeneratorOption(
        name="provider",
        default=AUTO,
        choices=(AUTO, OPENAI, ANTHROPIC),
        summary="Whose protocol the server speaks; auto goes by the model's name.",
    ),
    GeneratorOption(
        name="base_url",
        default="",
        summary="Address of an OpenAI-compatible (or Anthropic-compatible) server, as http://localhost:8000/v1.",
    ),
    GeneratorOption(
        name="agent",
        default=BUILTIN,
        choices=(BUILTIN, UPSTREAM),
        summary="The agent that works: our own, or the public triton_kernel_agent.",
    ),
    GeneratorOption(
        name="upstream_path",
        default="",
        summary="Folder of a checkout of the public agent; empty where it is installed.",
    ),
    GeneratorOption(name="agents", default=4, minimum=1, summary="Dialogues in parallel for each operator."),
    GeneratorOption(
        name="max_rounds", default=10, minimum=1, summary="Kernels that one dialogue may have judged."
    ),
    GeneratorOption(
        name="optimize",
        default=False,
        summary="Go on after the first correct kernel, for speed; needs a device on which kernels are timed.",
    ),
    GeneratorOption(
        name="max_cost", default=0.0, minimum=0, summary="Most US dollars for the run; 0 for no limit."
    ),
    GeneratorOption(
        name="max_tokens",
        default=0,
        minimum=0,
        summary="Most tokens for the run, in and out; 0 for no limit.",
    ),
    GeneratorOption(
        name="run_time_limit", default=0.0, minimum=0, summary="Seconds for the run; 0 for no limit."
    ),
    GeneratorOption(
        name="temperature", default=-1.0, minimum=-1, summary="Sampling temperature; -1 for the server's own."
    ),
    GeneratorOption(
        name="reasoning_effort", default="", summary="low, medium, high ...; empty for the server's own."
    ),
    GeneratorOption(name="reply_tokens", default=16384, minimum=16, summary="Most tokens of one reply."),
    GeneratorOption(name="stream", default=True, summary="Have replies sent piece by piece."),
    GeneratorOption(name="calls_at_once", default=16, minimum=1, summary="Calls that wait at a time."),
    GeneratorOption(
        name="calls_per_minute",
        default=0.0,
        minimum=0,
        summary="Most calls started in a minute; 0 for no limit.",
    ),
    GeneratorOption(name="call_timeout", default=300.0, minimum=0.01, summary="Seconds for one call."),
    GeneratorOption(
        name="retries", default=6, minimum=0, summary="Further tries of a call that was refused or broken."
    ),
    GeneratorOption(
        name="operators_at_once", default=8, minimum=1, summary="Operators that are worked on at a time."
    ),
    GeneratorOption(
        name="prompts",
        default="",
        summary="Folder of templates that take the place of ours of the same name.",
    ),
    GeneratorOption(
        name="prompt_chars", default=120_000, minimum=2000, summary="Most characters of one prompt."
    ),
    GeneratorOption(name="prices", default="", summary="TOML file of prices, beside configs/prices.toml."),
    GeneratorOption(name="agent_logs", default="agent_logs", summary="Folder of the agent's runs."),
    GeneratorOption(
        name="replay", default="", summary="Folder of a run to be repeated from its record, without network."
    ),
)
"""Every option with its default, in the order of the help."""

NOT_IN_PROMPTS = frozenset(
    """agent_logs replay max_cost max_tokens run_time_limit calls_at_once calls_per_minute call_timeout retries
    operators_at_once prices stream""".split()
)
"""Options that change neither what is asked nor what is done with the answer: a run can go on with others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """The options with their types, see ``DECLARED``."""

    model: str
    provider: str
    base_url: str
    agent: str
    upstream_path: str
    agents: int
    max_rounds: int
    optimize: bool
    max_cost: float
    max_tokens: int
    run_time_limit: float
    temperature: float
    reasoning_effort: str
    reply_tokens: int
    stream: bool
    calls_at_once: int
    calls_per_minute: float
    call_timeout: float
    retries: int
    operators_at_once: int
    prompts: str
    prompt_chars: int
    prices: str
    agent_logs: str
    replay: str

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> AgentOptions:
        """Return the options of a table that core has checked; what is missing has its default."""
        defaults: dict[str, Any] = {option.name: option.default for option in DECLARED}
        return cls(**{name: table.get(name, default) for name, default in defaults.items()})

    @property
    def agent_logs_dir(self) -> Path:
        """The folder of all runs."""
        return Path(self.agent_logs)

    def to_json(self) -> dict[str, Any]:
        """Return the table."""
        return {item.name: getattr(self, item.name) for item in fields(self)}
