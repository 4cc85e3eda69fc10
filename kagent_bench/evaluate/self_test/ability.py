"""What this machine can judge: found out by judging kernels that are known to be right."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import HarnessFault
from kagent_bench.evaluate.supervisor import KernelJob, KeyedCase, Supervisor
from kagent_bench.model.case import Case, IntegerValues, StorageSpec, TensorSpec, UniformValues
from kagent_bench.model.identity import make_case, source_digest
from kagent_bench.model.kernel import Kernel
from kagent_bench.model.names import OperatorName
from kagent_bench.model.verdict import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

DTYPES = ("float32", "float16", "bfloat16", "int64")
_ADD = OperatorName("add", "Tensor")
_N_ELEMENTS = 200
"""Two programs of the kernels here, the second one with a tail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What can be judged here."""

    judged: Mapping[str, bool]
    """Per dtype, whether a right kernel that computes in float32 (int64) is found right."""
    native: Mapping[str, bool]
    """Per dtype, whether one that computes in the dtype itself is found right."""
    reasons: Mapping[str, str]
    """Per dtype that cannot be judged: what happened to the right kernel."""

    def unjudgeable(self) -> dict[str, str]:
        """Return the dtypes whose cases must not be held against a kernel, with the reason."""
        return {
            dtype: f"a kernel known to be right fails here: {self.reasons[dtype]}"
            for dtype, right in self.judged.items()
            if not right
        }

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"judged": dict(self.judged), "native": dict(self.native), "reasons": dict(self.reasons)}

    def words(self) -> list[str]:
        """Return one line per dtype."""
        lines = []
        for dtype, right in self.judged.items():
            if not right:
                lines.append(f"{dtype}: cannot be judged ({self.reasons[dtype]})")
            elif not self.native[dtype]:
                lines.append(
                    f"{dtype}: judged where kernels upcast; arithmetic in {dtype} itself is not judged"
                )
            else:
                lines.append(f"{dtype}: judged")
        return lines


def examine(supervisor: Supervisor) -> Ability:
    """Judge the right kernels.

    Raises:
        HarnessFault: not even a float32 addition can be judged.
    """
    upcast, native = (_statuses(supervisor, name) for name in ("upcast_kernel.py", "native_kernel.py"))
    ability = Ability(
        judged={dtype: status is CaseStatus.PASSED for dtype, (status, _) in upcast.items()},
        native={dtype: status is CaseStatus.PASSED for dtype, (status, _) in native.items()},
        reasons={
            dtype: detail for dtype, (status, detail) in upcast.items() if status is not CaseStatus.PASSED
        },
    )
    if not ability.judged["float32"]:
        message = f"a float32 addition known to be right is judged wrong here: {ability.reasons['float32']}"
        raise HarnessFault(message, hint="see kab doctor for versions that are known not to work together")
    return ability


def _statuses(supervisor: Supervisor, file_name: str) -> dict[str, tuple[CaseStatus, str]]:
    path = Path(__file__).with_name(file_name)
    source = path.read_bytes()
    kernel = Kernel(operator=_ADD, path=path, sha256=source_digest(source))
    cases = tuple(KeyedCase(case=_case(dtype), key=dtype) for dtype in DTYPES)
    job = KernelJob(kernel=kernel, source=source, kind="value", cases=cases)
    return {
        record.key: (record.status, f"{record.reason}: {record.detail}") for record in supervisor.judge(job)
    }


def _case(dtype: str) -> Case:
    rule = IntegerValues(low=-1000, high=1000) if dtype == "int64" else UniformValues(low=-4.0, high=4.0)
    storage = StorageSpec(dtype=dtype, numel=_N_ELEMENTS, rule=rule)
    tensors = tuple(TensorSpec(storage=index, shape=(_N_ELEMENTS,), stride=(1,)) for index in range(2))
    return make_case(_ADD, tensors, (), (storage, storage), dtype=dtype, origin="self_test")
