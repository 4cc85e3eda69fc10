"""Judging in this process: a case, a Python function as its kernel, and the oracle's findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
import torch

from kagent_bench.evaluate.arena import Arena
from kagent_bench.evaluate.candidate.memory import Call
from kagent_bench.evaluate.candidate.outputs import describe
from kagent_bench.evaluate.oracle.case_judge import CaseJudge
from kagent_bench.evaluate.oracle.rounds import OracleSettings
from kagent_bench.evaluate.oracle.semantics import overload, semantics_of
from kagent_bench.evaluate.tolerance import tolerance_table
from kagent_bench.model.case import Case, IntegerValues, LiteralValues, StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import encode_value, make_case
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Callable

    from kagent_bench.evaluate.oracle.finding import Finding
    from kagent_bench.evaluate.oracle.tally import Tally
    from kagent_bench.model.case import Value, ValueRule

SEED = b"a secret of thirty-two bytes or so"


def add(self: torch.Tensor, other: torch.Tensor, alpha: float = 1) -> torch.Tensor:
    """Do what add.Tensor does."""
    return self + alpha * other


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the oracle said of a kernel on a case."""

    finding: Finding | None
    tally: Tally
    rounds: list[str]
    """Names of the rounds that were judged, in order."""

    @property
    def reason(self) -> str:
        """Reason code; empty where the case passed."""
        return "" if self.finding is None else self.finding.reason

    @property
    def detail(self) -> str:
        """The finding in words."""
        return "" if self.finding is None else self.finding.detail


@dataclass(slots=True)
class CaseWriter:
    """Collects the storages of a case while its arguments are written down."""

    storages: list[StorageSpec] = field(default_factory=list)

    def tensor(
        self,
        *shape: int,
        dtype: str = "float32",
        stride: tuple[int, ...] | None = None,
        offset: int = 0,
        rule: ValueRule | None = None,
    ) -> TensorSpec:
        """Add a tensor with a storage of its own; contiguous unless a stride is given."""
        steps = torch.empty(shape, device="meta").stride() if stride is None else stride
        used = 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        usual: ValueRule = UniformValues(low=-4.0, high=4.0)
        if not dtype.startswith(("float", "bfloat", "complex")):
            usual = IntegerValues(
                low=0 if dtype in {"bool", "uint8"} else -9, high=1 if dtype == "bool" else 9
            )
        self.storages.append(StorageSpec(dtype=dtype, numel=offset + used, rule=rule or usual))
        return TensorSpec(storage=len(self.storages) - 1, shape=shape, stride=tuple(steps), offset=offset)

    def literal(self, values: torch.Tensor) -> TensorSpec:
        """Add a contiguous tensor with exactly these elements."""
        flat = values.contiguous().flatten()
        data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        dtype = str(values.dtype).removeprefix("torch.")
        return self.tensor(*values.shape, dtype=dtype, rule=LiteralValues(data=data))

    def case(self, name: str, *args: Value, **kwargs: Value) -> Case:
        """Return the case with everything written so far."""
        operator = OperatorName.parse(name)
        dtype = self.storages[0].dtype if self.storages else "float32"
        return make_case(
            operator, args, tuple(kwargs.items()), tuple(self.storages), dtype=dtype, origin="direct"
        )


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges kernels on cases in this process."""

    settings: OracleSettings

    def __call__(
        self,
        case: Case,
        kernel: Callable[..., Any],
        *,
        kind: str = "value",
        operator: Callable[..., Any] | None = None,
        reply: dict[str, Any] | None = None,
    ) -> Judged:
        """Run every round of a case.

        Args:
            case: the case.
            kernel: called with tensors over the shared memory, as a candidate's function is.
            kind: how the operator can be judged.
            operator: the reference; None for torch's own.
            reply: laid over what the candidate's side describes.
        """
        reference = operator or overload(case.operator)
        judge = CaseJudge(case, kind, reference, semantics_of(case.operator), self.settings)
        finding = judge.open()
        names: list[str] = []
        if finding is not None:
            return Judged(finding=finding, tally=judge.tally, rounds=names)
        assert judge.layout is not None
        arena = Arena(judge.layout.n_bytes)
        try:
            judge.fill(arena)
            call = Call(_header(case, judge, arena), arena.memory, "cpu")
            while True:
                assert judge._round is not None
                names.append(judge._round.name)
                args, kwargs = call.arguments()
                value = kernel(*args, **kwargs)
                described = describe(value, call, arena.memory)
                finding = judge.judge({**described, "launches": 1, "calls": [], **(reply or {})}, arena)
                if finding is not None or not judge.advance():
                    break
                judge.fill(arena)
            finding = finding or judge.conclude()
            return Judged(finding=finding, tally=judge.tally, rounds=names)
        finally:
            arena.close()


def _header(case: Case, judge: CaseJudge, arena: Arena) -> dict[str, Any]:
    layout = judge.layout
    assert layout is not None
    return {
        "args": [encode_value(value) for value in case.args],
        "kwargs": {name: encode_value(value) for name, value in case.kwargs},
        "dtypes": [storage.dtype for storage in case.storages],
        "regions": [[region.offset, region.n_bytes] for region in layout.regions],
        "output": [layout.input_bytes, layout.output_bytes],
        "arena_bytes": arena.n_bytes,
    }


@pytest.fixture(scope="session")
def oracle_settings() -> OracleSettings:
    """Return the settings of a run on the CPU."""
    return OracleSettings(
        seed=SEED,
        device="cpu",
        limits=tolerance_table({}),
        rounds=5,
        policy="strict",
        interpreter=True,
        memory_bytes=1 << 30,
    )


@pytest.fixture(scope="session")
def judge(oracle_settings: OracleSettings) -> Judge:
    """Return a judge with the usual settings."""
    return Judge(oracle_settings)


@pytest.fixture
def write() -> CaseWriter:
    """Return an empty case to write arguments of."""
    return CaseWriter()


@pytest.fixture
def adding(write: CaseWriter) -> Case:
    """Return an addition with broadcasting."""
    return write.case("add.Tensor", write.tensor(6, 5), write.tensor(5))
