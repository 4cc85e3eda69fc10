"""The generator behind the name ``kernelagent``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kab_kernelagent.options import UPSTREAM, AgentOptions
from kab_kernelagent.prices import find_price
from kab_kernelagent.prompting import Prompts
from kab_kernelagent.providers.choose import connect, endpoint
from kab_kernelagent.session import AgentSession, open_session
from kab_kernelagent.store import RunStore
from kab_kernelagent.upstream import check_upstream
from kab_kernelagent.version import VERSION
from kagent_bench.errors import UsageError
from kagent_bench.hooks.protocols import GenerationRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.hooks.protocols import GenerationRequest, GenerationResult


class KernelAgent:
    """Has language models write kernels."""

    version = VERSION
    wants_verdict = True

    def check(self, options: Mapping[str, Any]) -> None:
        """Find out whether work can be done.

        Raises:
            UsageError: a key, a package, a model or a price is missing, or an option cannot be used.
        """
        read = AgentOptions.read(options)
        if read.replay:
            _check_record(RunStore.read(Path(read.replay), str))
            return
        Prompts(folder=read.prompts, device="cpu", max_chars=read.prompt_chars)
        where = endpoint(read)
        if read.agent == UPSTREAM:
            _refuse_optimize(read)
            check_upstream(read)
        connect(where, stream=read.stream).close()  # only to see whether its package is there
        price = find_price(read.model, official=where.official, file=read.prices)
        if read.max_cost and price is None:
            message = f"--max-cost cannot be kept: the price of '{read.model}' at this server is unknown"
            raise UsageError(
                message, hint="limit tokens instead (--max-tokens), or give prices: --prices FILE"
            )

    def open(self, run: GenerationRun) -> AgentSession:
        """Begin a run, or go on with an interrupted one.

        Raises:
            UsageError: the options cannot be used on this device.
        """
        return open_session(AgentOptions.read(run.options), run)

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Solve a single problem in a run of its own."""
        run = GenerationRun(options=request.options, base_dir=Path(), device=request.device, judging={})
        session = self.open(run)
        try:
            return session.generate(request)
        finally:
            session.close(interrupted=False)


def _refuse_optimize(options: AgentOptions) -> None:
    """Refuse what the public agent cannot do.

    Raises:
        UsageError: it cannot.
    """
    if options.optimize:
        message = "--optimize cannot be kept with --agent upstream, which stops at the first kernel that it takes for right"
        raise UsageError(message, hint="leave it out, or take our own agent: --agent builtin")


def _check_record(record: RunStore) -> None:
    """Refuse a record that cannot be repeated.

    Raises:
        UsageError: its kernels are of an agent that would go its own way again.
    """
    if AgentOptions.read(record.facts["options"]).agent == UPSTREAM:
        message = f"{record.path} is of --agent upstream, which cannot be repeated word for word"
        raise UsageError(
            message, hint="--replay takes runs of our own agent; this one's exchanges are in its folders"
        )
