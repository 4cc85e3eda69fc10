"""A stranger's suite for the tests: many operators with one or two hand-written cases each, made without torch.

The tests copy this file into a distribution of its own. It imports triton, as a plugin may, before any kernel is
judged. ``CASES_EDITION`` stands for a change of the suite's content.
"""

from __future__ import annotations

import os
import struct
from math import prod
from typing import TYPE_CHECKING

from kagent_bench.hooks.entries import SuiteEntry
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.hooks.specs import hookimpl
from kagent_bench.model.case import (
    Case,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    TensorSpec,
    UniformValues,
    Value,
    ValueRule,
)
from kagent_bench.model.identity import digest, make_case
from kagent_bench.model.names import OperatorName, ProblemName
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from collections.abc import Iterator

N = 300
"""Elements of the usual tensor: three programs of the kernels, the last one with a tail."""
MANY = 1_000_000
TINY = UniformValues(low=1e-5, high=1e-4)
SPECIALS = (0.0, -0.0, -1.0, 2.0, float("inf"), float("-inf"), float("nan"), 0.5)


class Writer:
    """Writes the cases of one operator."""

    def __init__(self, name: str, kind: str = "value") -> None:
        """Start an operator without cases."""
        self.operator = OperatorName.parse(name)
        self.kind = kind
        self.cases: list[Case] = []
        self._storages: list[StorageSpec] = []

    def tensor(self, *shape: int, dtype: str = "float32", rule: ValueRule | None = None) -> TensorSpec:
        """Add a contiguous tensor with a storage of its own."""
        integer = dtype.startswith("int")
        usual: ValueRule = IntegerValues(low=-9, high=9) if integer else UniformValues(low=-4.0, high=4.0)
        self._storages.append(StorageSpec(dtype=dtype, numel=prod(shape), rule=rule or usual))
        stride = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
        return TensorSpec(storage=len(self._storages) - 1, shape=shape, stride=stride)

    def literal(self, *values: float) -> TensorSpec:
        """Add a float32 tensor with exactly these elements."""
        data = struct.pack(f"<{len(values)}f", *values)
        return self.tensor(len(values), rule=LiteralValues(data=data))

    def case(self, *args: Value, dtype: str = "float32", **kwargs: Value) -> Writer:
        """Make a case of the tensors that were added since the last one."""
        self.cases.append(
            make_case(
                self.operator,
                args,
                tuple(kwargs.items()),
                tuple(self._storages),
                dtype=dtype,
                origin="direct",
            )
        )
        self._storages.clear()
        return self

    def unary(self, *dtypes: str) -> Writer:
        """Make a case of one usual tensor for each dtype."""
        for dtype in dtypes or ("float32",):
            self.case(self.tensor(N, dtype=dtype), dtype=dtype)
        return self

    def binary(self, *dtypes: str) -> Writer:
        """Make a case of two usual tensors for each dtype."""
        for dtype in dtypes or ("float32",):
            self.case(self.tensor(N, dtype=dtype), self.tensor(N, dtype=dtype), dtype=dtype)
        return self


UNARY = """
    abs ceil cos cosh deg2rad erf erfc exp2 expm1 floor frac neg relu relu_ round sign silu sinh square tanh trunc
    leaky_relu
"""


def _written() -> Iterator[Writer]:
    for name in UNARY.split():
        yield Writer(name).unary()
    for name in ("add.Tensor", "add_.Tensor", "mul.Tensor", "div.Tensor", "maximum"):
        yield Writer(name).binary()
    one = Writer("_softmax")
    yield one.case(one.tensor(1, 4096, rule=UniformValues(low=0.0, high=1.0)), -1, 0)
    one = Writer("mean.dim")
    yield one.case(one.tensor(3, N, rule=TINY), (1,))
    one = Writer("mm")
    ones = (1.0,) * 64
    square = TensorSpec(storage=0, shape=(8, 8), stride=(8, 1))
    one.literal(*ones)
    one.literal(*ones)
    one.case(square, TensorSpec(storage=1, shape=(8, 8), stride=(8, 1)))
    yield one.case(one.tensor(8, 8), one.tensor(8, 8))
    one = Writer("add.out")
    yield one.case(one.tensor(N), one.tensor(N), out=one.tensor(N))
    one = Writer("unsqueeze_", "view")
    yield one.case(one.tensor(N), 0)
    one = Writer("empty_like", "metadata")
    yield one.case(one.tensor(N))
    one = Writer("rand_like", "random")
    yield one.case(one.tensor(N))
    one = Writer("asinh")
    yield one.case(one.tensor(0, 3))
    one = Writer("sin")
    yield one.case(one.tensor(MANY))
    for name in ("log", "log2", "log10"):
        one = Writer(name)
        yield one.case(one.literal(*SPECIALS))
    one = Writer("exp")
    yield one.case(one.tensor(10 << 38)).unary()
    yield Writer("clone").unary("float16", "bfloat16")
    yield Writer("rsub.Tensor").binary("float16", "bfloat16")
    yield Writer("sub.Tensor").binary("float16", "bfloat16")
    one = Writer("bmm")
    for dtype in ("float16", "bfloat16"):
        one.case(one.tensor(1, 16, 16, dtype=dtype), one.tensor(1, 16, 16, dtype=dtype), dtype=dtype)
    yield one
    yield Writer("atan").unary("float16")
    for name, n_cases in (("acos", 1), ("rad2deg", 3), ("sgn", 5)):
        one = Writer(name)
        for index in range(n_cases):
            one.case(one.tensor(N + index))
        yield one


class CasesSuite:
    """The suite."""

    def __init__(self) -> None:
        """Write every case."""
        found = (
            OperatorCases(operator=one.operator, kind=one.kind, cases=tuple(one.cases)) for one in _written()
        )
        self._operators = tuple(sorted(found, key=lambda item: item.operator))

    def content_sha256(self) -> str:
        """Return a hash of all cases and the edition."""
        ids = [case.id for item in self._operators for case in item.cases]
        return digest([os.environ.get("CASES_EDITION", "first"), ids])

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ProblemName, ...]:
        """Return the operators, sorted."""
        return tuple(item.operator for item in self.operators(request or SuiteRequest()))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with their cases, sorted by name."""
        for item in self._operators:
            if request.operators is None or item.operator in request.operators:
                yield item


@hookimpl
def kab_suites() -> list[SuiteEntry]:
    """Return the suite."""
    return [SuiteEntry("cases", "small cases that must come out right", _load)]


def _load() -> CasesSuite:
    import triton

    assert triton
    return CasesSuite()
