"""What the timing benchmarks share: kernels timed by the evaluator's own conductor, again and again.

Only the judging of values is left out, so that a benchmark of times spends its time on times.
"""

from __future__ import annotations

import contextlib
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.config.schema import EvaluateSettings, Settings
from kagent_bench.evaluate.candidate_process import Candidate, CandidateLimits
from kagent_bench.evaluate.processes import close_quietly
from kagent_bench.evaluate.session import Session
from kagent_bench.evaluate.timing.conductor import Conductor, TimingOutcome, TimingSettings
from kagent_bench.evaluate.timing.peaks import peaks_of
from kagent_bench.model.case import Case, StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import encode_case, make_case, source_digest
from kagent_bench.model.kernel import Kernel
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.case import Value

LIMITS = CandidateLimits(
    startup_timeout_s=120, call_timeout_s=120, memory_bytes=8 << 30, output_bytes=65536, secrets=()
)
LONGEST_S = 600.0
EAGER = """import torch


def {function}(*args, **kwargs):
    return torch.ops.aten.{name}(*args, **kwargs)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """One measurement."""

    outcome: TimingOutcome
    wall_s: float
    """Time that measuring took."""
    first: bool
    """Whether it was the first of its process, which sets up what all of them use."""


def tensor_case(
    operator: str, shapes: Sequence[tuple[int, ...]], dtype: str, *rest: Value, spare: float = 0.0
) -> Case:
    """Return a case of dense tensors and other arguments, with values from -1 to 1.

    Args:
        operator: overload.
        shapes: of the tensor arguments, in order.
        dtype: of all of them.
        rest: arguments after them.
        spare: share of further elements that each storage has behind its tensor.
    """
    storages, args = [], []
    for index, shape in enumerate(shapes):
        stride: list[int] = []
        numel = 1
        for size in reversed(shape):
            stride.insert(0, numel)
            numel *= size
        storages.append(
            StorageSpec(dtype=dtype, numel=int(numel * (1 + spare)), rule=UniformValues(low=-1.0, high=1.0))
        )
        args.append(TensorSpec(storage=index, shape=shape, stride=tuple(stride)))
    return make_case(
        operator=OperatorName.parse(operator),
        args=(*args, *rest),
        kwargs=(),
        storages=tuple(storages),
        dtype=dtype,
        origin="benchmark",
    )


class Bench:
    """A session that times."""

    def __init__(self, session: Session) -> None:
        """Take an entered session."""
        self._session = session
        session.supervisor(0)
        self._oracle = session.oracle(0)
        self._server = session.server
        self.machine = session.machine

    def times(
        self, case: Case, source: str, repeats: int, *, processes: int = 1, trace_calls: int = 0
    ) -> Iterator[Timed]:
        """Time a kernel file on a case so often, in so many processes one after the other."""
        for number in range(processes):
            share = len(range(number, repeats, processes))
            yield from self._times(case, source, share, trace_calls)

    def _times(self, case: Case, source: str, repeats: int, trace_calls: int) -> Iterator[Timed]:
        kernel = Kernel(operator=case.operator, path=Path("kernel.py"), sha256=source_digest(source.encode()))
        settings = TimingSettings(peaks=peaks_of(self.machine["name"]), trace_calls=trace_calls)
        conductor = Conductor(self._oracle, settings)
        self._oracle.request({"do": "kernel"})
        deadline = time.monotonic() + LONGEST_S
        with Candidate(
            self._server, kernel, source.encode(), self.machine["torch_device"], LIMITS
        ) as candidate:
            loaded = candidate.load()
            assert loaded["outcome"] == "loaded", loaded
            opened, descriptors = self._oracle.request(
                {"do": "open", "case": encode_case(case), "kind": "value"}
            )
            assert opened["state"] == "ready", opened
            reply = candidate.call({"call": opened["call"]}, descriptors, deadline)
            close_quietly(*descriptors)
            assert reply["outcome"] == "returned", reply
            for number in range(repeats):
                started = time.monotonic()
                outcome = conductor.time_case(candidate, case, deadline, first_s=None)
                yield Timed(outcome=outcome, wall_s=time.monotonic() - started, first=number == 0)


def eager_source(case: Case) -> str:
    """Return a kernel file that calls the operator itself."""
    return EAGER.format(function=case.operator.kernel_function, name=case.operator)


@contextlib.contextmanager
def bench(*, device: str = "auto") -> Iterator[Bench]:
    """Start a session on a device and print what it is."""
    settings = Settings(evaluate=EvaluateSettings(device=device, performance="on", policy="report"))
    with tempfile.TemporaryDirectory(), Session(settings, times=True) as session:
        found = Bench(session)
        versions = ", ".join(f"{name} {version}" for name, version in session.machine["versions"].items())
        print(f"{session.machine['name']}; {versions}; {platform.platform()}", flush=True)
        yield found
