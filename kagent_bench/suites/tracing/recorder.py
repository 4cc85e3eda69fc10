"""Notes every ATen call that is dispatched: its arguments by shape, how often, and which module made it."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import ITEM_BYTES, Source, SymbolSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch
from kagent_bench.suites.recording.kinds import operator_kind
from kagent_bench.suites.trace.call import Arguments, SparseTensor, TracedCall, TracedTensor
from kagent_bench.suites.trace.words import device_symbol
from kagent_bench.suites.tracing.portable import portable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kagent_bench.suites.trace.call import TracedValue

WITHOUT_WORK = frozenset(["view", "metadata"])
"""Kinds of operators that compute nothing: views and allocations."""
NO_KERNELS = frozenset(
    [
        "_local_scalar_dense",
        "equal",
        "is_same_size",
        "item",
        "is_pinned",
        "_pin_memory",
        "record_stream",
        "_has_same_storage_numel",
    ]
)
"""Operators that tell the host something, or move memory for it."""
ASKED = frozenset(["prim", "profiler"])
"""Namespaces of operators that only ask or tell something."""
NOTHING = "views, allocations and questions of the host"
MAX_MODULES = 12
"""Modules that are kept of each call: a model that makes one everywhere says nothing by more."""
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")


class CannotHold(Exception):
    """An argument that no trace can hold; the text says which."""


class CallRecorder(DispatchWatch):
    """Counts the calls that are made while it is entered."""

    def __init__(self, model: str, running: Callable[[], str]) -> None:
        """Take the name of the model, and who says which module runs."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._model = model
        self._running = running
        self._calls: dict[tuple[OperatorName, Arguments], Counter[str]] = {}
        self._paused = False
        self.left_out: Counter[str] = Counter()
        """Calls that are not in the trace, by reason."""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Note the call before it can change its arguments, then make it."""
        del types
        named = kwargs or {}
        if not self._paused:
            self._note(func, args, named)
        return func(*args, **named)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Note nothing for a while: what is done for the recording's own sake."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def calls(self) -> tuple[TracedCall, ...]:
        """Return the calls, each once, sorted by operator and then by how often they were made."""
        found = [
            TracedCall(
                operator=operator,
                arguments=arguments,
                count=modules.total(),
                sources=(
                    Source(self._model, modules.total(), tuple(sorted(name for name in modules if name))),
                ),
            )
            for (operator, arguments), modules in self._calls.items()
        ]
        return tuple(sorted(found, key=lambda call: (call.operator, -call.count)))

    def _note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if func.namespace in ASKED:
            self.left_out[NOTHING] += 1
            return
        if func.namespace != "aten":
            self.left_out[f"{func.namespace}.{func.overloadpacket.__name__} is no ATen operator"] += 1
            return
        if _computes_nothing(func):
            self.left_out[NOTHING] += 1
            return
        try:
            arguments = Arguments(
                tuple(_value(value) for value in args),
                tuple((name, _value(value)) for name, value in kwargs.items() if value is not None),
            )
        except CannotHold as error:
            self.left_out[str(error)] += 1
            return
        name = OperatorName(func.overloadpacket.__name__, func._overloadname)  # noqa: SLF001 - torch's only way
        modules = self._calls.setdefault(portable(name, arguments), Counter())
        where = _NUMBER.sub("*", self._running())
        modules[where if where in modules or len(modules) < MAX_MODULES else ""] += 1


@cache
def _computes_nothing(func: Any) -> bool:
    return func.overloadpacket.__name__ in NO_KERNELS or operator_kind(func) in WITHOUT_WORK


def _value(value: Any) -> TracedValue:
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    if isinstance(value, list | tuple):
        return tuple(_value(item) for item in value)
    if isinstance(value, torch.dtype):
        return SymbolSpec(kind="dtype", name=_name(value))
    if isinstance(value, torch.device):
        # What a model computes on the CPU, for want of a GPU or of weights, it will compute on the device under test.
        return device_symbol("cuda" if value.type in {"cpu", "meta"} else value.type)
    if isinstance(value, torch.layout):
        return SymbolSpec(kind="layout", name=_name(value))
    if isinstance(value, torch.memory_format):
        return SymbolSpec(kind="memory_format", name=_name(value))
    if isinstance(value, torch.SymInt | torch.SymFloat):
        raise CannotHold("a size that depends on data")
    raise CannotHold(f"an argument of type {type(value).__name__}")


def _tensor(tensor: torch.Tensor) -> TracedTensor | SparseTensor:
    dtype = _name(tensor.dtype)
    if dtype not in ITEM_BYTES:
        raise CannotHold(f"a tensor of {dtype}")
    if not all(isinstance(size, int) for size in tensor.shape):
        raise CannotHold("a size that depends on data")
    if tensor.layout != torch.strided:
        return SparseTensor(tuple(tensor.shape), dtype, _name(tensor.layout))
    return TracedTensor(
        tuple(tensor.shape), dtype, None if tensor.is_contiguous() else tuple(tensor.stride())
    )


def _name(symbol: object) -> str:
    return str(symbol).removeprefix("torch.")
