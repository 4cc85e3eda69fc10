"""The ``smoke`` suite: six operators with a few hand-written cases each, made without torch."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from functools import cache
from math import prod
from typing import TYPE_CHECKING

from kagent_bench.hooks.protocols import SuiteRequest
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
    from collections.abc import Callable

FLOATS = ("float32", "float16", "bfloat16")
SPECIAL_F32 = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5, -2.0)
"""Values that a comparison or an arithmetic shortcut gets wrong."""


class SmokeSuite:
    """A suite that is there at once, to see whether everything works."""

    def content_sha256(self) -> str:
        """Return a hash of all case ids."""
        return digest([case.id for item in _operators() for case in item.cases])

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ProblemName, ...]:
        """Return the operators with cases of the request's dtypes, sorted."""
        return tuple(item.operator for item in self.operators(request or SuiteRequest()))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        """Yield the operators with their cases, sorted by name; the cases are too few for a limit."""
        for item in _operators():
            cases = tuple(
                case for case in item.cases if request.dtypes is None or case.dtype in request.dtypes
            )
            if cases and (request.operators is None or item.operator in request.operators):
                yield OperatorCases(operator=item.operator, kind=item.kind, cases=cases)


class _Call:
    """Collects the storages of one call while its arguments are written down."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.storages: list[StorageSpec] = []

    def tensor(
        self,
        *shape: int,
        stride: tuple[int, ...] | None = None,
        offset: int = 0,
        rule: ValueRule | None = None,
    ) -> TensorSpec:
        """Add a tensor with a storage of its own, contiguous unless a stride is given."""
        steps = _contiguous(shape) if stride is None else stride
        n_used = 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True))
        default = UniformValues(low=-9.0, high=9.0) if self.dtype in FLOATS else IntegerValues(low=-9, high=9)
        self.storages.append(StorageSpec(dtype=self.dtype, numel=offset + n_used, rule=rule or default))
        return TensorSpec(storage=len(self.storages) - 1, shape=shape, stride=steps, offset=offset)

    def special(self) -> TensorSpec:
        """Add NaN, infinities and negative zero, in float32."""
        data = struct.pack(f"<{len(SPECIAL_F32)}f", *SPECIAL_F32)
        return self.tensor(len(SPECIAL_F32), rule=LiteralValues(data=data))


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(prod(max(size, 1) for size in shape[axis + 1 :]) for axis in range(len(shape)))


Arguments = tuple[tuple[Value, ...], dict[str, Value]]


def _relu(call: _Call) -> Iterator[Arguments]:
    yield (call.tensor(37, 29),), {}
    yield (call.tensor(5, 7, stride=(1, 5), offset=3),), {}
    yield (call.tensor(0, 3),), {}
    yield (call.tensor(),), {}
    if call.dtype == "float32":
        yield (call.special(),), {}


def _binary(call: _Call) -> Iterator[Arguments]:
    yield (call.tensor(33, 31), call.tensor(33, 31)), {}
    yield (call.tensor(7, 1, 5), call.tensor(3, 1)), {}
    yield (call.tensor(9, 4, stride=(1, 9)), call.tensor(9, 4)), {}
    yield (call.tensor(1025), 3), {}
    same = call.tensor(65)
    yield (same, same), {}
    if call.dtype == "float32":
        yield (call.special(), call.tensor(7)), {}


def _add(call: _Call) -> Iterator[Arguments]:
    yield from _binary(call)
    yield (call.tensor(17), call.tensor(17)), {"alpha": 2}


def _sum(call: _Call) -> Iterator[Arguments]:
    yield (call.tensor(13, 130), (1,)), {}
    yield (call.tensor(13, 130), (-2,), True), {}
    yield (call.tensor(3, 5, 7), (0, 2)), {}
    yield (call.tensor(11, 6, stride=(1, 11)), (1,)), {}
    yield (call.tensor(4, 0), (1,)), {}
    yield (call.tensor(1025), None), {}


def _softmax(call: _Call) -> Iterator[Arguments]:
    yield (call.tensor(17, 67), -1, False), {}
    yield (call.tensor(17, 67), 0, False), {}
    yield (call.tensor(3, 5, 9, stride=(1, 3, 15)), 1, False), {}
    yield (call.tensor(1, 1025), 1, False), {}


def _mm(call: _Call) -> Iterator[Arguments]:
    yield (call.tensor(33, 17), call.tensor(17, 29)), {}
    yield (call.tensor(16, 32, stride=(1, 16)), call.tensor(32, 16)), {}
    yield (call.tensor(1, 64), call.tensor(64, 1)), {}
    yield (call.tensor(5, 0), call.tensor(0, 4)), {}


_TABLE: dict[str, tuple[Callable[[_Call], Iterator[Arguments]], tuple[str, ...]]] = {
    "_softmax.default": (_softmax, FLOATS),
    "add.Tensor": (_add, (*FLOATS, "int64")),
    "mm.default": (_mm, FLOATS),
    "mul.Tensor": (_binary, (*FLOATS, "int64")),
    "relu.default": (_relu, (*FLOATS, "int64")),
    "sum.dim_IntList": (_sum, (*FLOATS, "int64")),
}


@cache
def _operators() -> tuple[OperatorCases, ...]:
    return tuple(
        OperatorCases(
            operator=OperatorName.parse(name),
            kind="value",
            cases=tuple(case for dtype in dtypes for case in _cases(name, write, dtype)),
        )
        for name, (write, dtypes) in sorted(_TABLE.items())
    )


def _cases(name: str, write: Callable[[_Call], Iterable[Arguments]], dtype: str) -> Iterator[Case]:
    call = _Call(dtype)
    for args, kwargs in write(call):
        yield make_case(
            OperatorName.parse(name),
            args,
            tuple(kwargs.items()),
            tuple(call.storages),
            dtype=dtype,
            origin="smoke",
        )
        call.storages.clear()
