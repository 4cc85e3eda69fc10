"""Records every ATen call that is dispatched while a sample runs, one of each signature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.suites.recording.dispatch_watch import DispatchWatch
from kagent_bench.suites.recording.elements import special_values, used_elements
from kagent_bench.suites.recording.kinds import ALLOCATES
from kagent_bench.suites.recording.specification import Arguments, Unrepresentable, specify

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

ORIGINS = ("direct", "inplace", "inner", "backward", "reference")
"""Where recorded calls come from; of two equal ones the earlier origin is kept."""

EXAMINED_PER_SHAPE = 2
"""Calls of equal shapes and scalars whose values are looked at, in search of another kind of values."""

MAX_SIGNATURES = {"direct": 100, "inplace": 24, "inner": 24, "backward": 32, "reference": 48}
"""Calls of one operator that are kept from each origin; further ones vary what the kept ones vary already."""


@dataclass(slots=True)
class Recorded:
    """One signature of an operator, with its first call."""

    operator: torch._ops.OpOverload
    arguments: Arguments
    values: tuple[frozenset[str], ...]
    """What is special in the values of each storage."""
    origin: str
    count: int = 1


@dataclass(slots=True)
class _Call:
    operator: torch._ops.OpOverload
    shape_key: Hashable
    found: tuple[tuple[frozenset[str], ...], Arguments] | None
    """Values and arguments, where these were looked at."""


@dataclass(slots=True)
class _Shape:
    """The calls of equal shapes and scalars."""

    examined: int = 0
    kinds: dict[tuple[frozenset[str], ...], Recorded] = field(default_factory=dict)


@dataclass(slots=True)
class _Operator:
    """What is recorded of one operator."""

    shapes: dict[Hashable, _Shape] = field(default_factory=dict)
    kept: Counter[str] = field(default_factory=Counter)
    """Number of signatures by the origin that they were first seen with."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Calls that are no cases, by reason."""

    def wants(self, origin: str) -> bool:
        return self.kept[origin] < MAX_SIGNATURES[origin]


class CallRecorder(DispatchWatch):
    """Collects calls; those of a sample are kept only when the sample has run to its end."""

    def __init__(self) -> None:
        """Start with nothing recorded."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.origin = ORIGINS[0]
        """Origin of the calls to come, one of ``ORIGINS``; with ``direct``, all but lone calls are ``inner``."""
        self._operators: dict[torch._ops.OpOverload, _Operator] = {}
        self._calls: list[_Call] = []
        self._left_out: list[tuple[torch._ops.OpOverload, str]] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record the call, then run it; new memory is cleared, so that recordings repeat."""
        del types
        named = kwargs or {}
        if func.namespace == "aten":
            self._note(func, args, named)
        result = func(*args, **named)
        if func.overloadpacket.__name__ in ALLOCATES and result.layout == torch.strided:
            result.untyped_storage().fill_(0)
        return result

    def _note(self, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Copy the arguments of a call that may be kept."""
        operator = self._operators.get(func)
        if operator is None:
            operator = self._operators[func] = _Operator()
        lone = self.origin == "direct" and not self._calls and not self._left_out
        try:
            key = _shape_key(args, kwargs)
            shape = operator.shapes.get(key)
            if shape is None and not operator.wants("direct" if lone else self._later_origin()):
                self._left_out.append((func, "enough_signatures"))
                return
            if shape is not None and shape.examined >= EXAMINED_PER_SHAPE:
                self._calls.append(_Call(func, key, None))
                return
            if _has_number_for_tensor(func, args):
                self._left_out.append((func, "number_for_tensor"))
                return
            arguments = specify(args, kwargs)
        except Unrepresentable as error:
            self._left_out.append((func, str(error)))
            return
        views = arguments.views()
        values = tuple(
            special_values(used_elements(views[index], storage))
            for index, storage in enumerate(arguments.storages)
        )
        operator.shapes.setdefault(key, _Shape()).examined += 1
        self._calls.append(_Call(func, key, (values, arguments)))

    def _later_origin(self) -> str:
        """Return the origin of a call that is not the first of its sample."""
        return "inner" if self.origin == "direct" else self.origin

    def commit(self) -> None:
        """Keep what was recorded since the last ``commit`` or ``discard``."""
        alone = len(self._calls) + len(self._left_out) == 1
        origin = self.origin if alone else self._later_origin()
        for call in self._calls:
            self._keep(call, origin)
        for func, reason in self._left_out:
            self._operators[func].left_out[reason] += 1
        self.discard()

    def discard(self) -> None:
        """Forget what was recorded since the last ``commit`` or ``discard``."""
        self._calls.clear()
        self._left_out.clear()

    def _keep(self, call: _Call, origin: str) -> None:
        operator = self._operators[call.operator]
        kinds = operator.shapes[call.shape_key].kinds
        values = next(iter(kinds), None) if call.found is None else call.found[0]
        known = None if values is None else kinds.get(values)
        if known is not None:
            known.count += 1
            known.origin = min(known.origin, origin, key=ORIGINS.index)
        elif call.found is not None:
            if not operator.wants(origin):
                operator.left_out["enough_signatures"] += 1
                return
            operator.kept[origin] += 1
            kinds[call.found[0]] = Recorded(call.operator, call.found[1], call.found[0], origin)

    def left_out(self) -> dict[torch._ops.OpOverload, Counter[str]]:
        """Return the number of calls that are no cases, by operator and reason."""
        return {operator: found.left_out for operator, found in self._operators.items() if found.left_out}

    def recorded(self) -> Iterator[tuple[torch._ops.OpOverload, list[Recorded]]]:
        """Yield each operator with its signatures, by origin, then in the order of recording."""
        for operator, known in sorted(self._operators.items(), key=lambda item: str(item[0])):
            found = [recorded for shape in known.shapes.values() for recorded in shape.kinds.values()]
            if found:
                yield operator, sorted(found, key=lambda item: ORIGINS.index(item.origin))


def _has_number_for_tensor(func: torch._ops.OpOverload, args: tuple[Any, ...]) -> bool:
    """Return whether a Python number stands where the schema has a tensor.

    PyTorch's parser allows it (``torch.mul(2.0, x)``); a kernel written to the schema need not.
    """
    declared = func._schema.arguments  # noqa: SLF001 - torch has no public way to a schema
    return any(
        isinstance(value, (bool, int, float, complex)) and "Tensor" in str(argument.type)
        for value, argument in zip(args, declared, strict=False)
    )


def _shape_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    seen: dict[int, int] = {}
    key = tuple(_token(value, seen) for value in args)
    return key, tuple((name, _token(value, seen)) for name, value in kwargs.items())


def _token(value: Any, seen: dict[int, int]) -> Hashable:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided:
            reason = f"{str(value.layout).removeprefix('torch.')}_tensor"
            raise Unrepresentable(reason)
        memory = seen.setdefault(value.untyped_storage()._cdata, len(seen))  # noqa: SLF001 - data_ptr is 0 for every empty storage
        return value.shape, value.stride(), value.dtype, value.storage_offset() > 0, memory
    if isinstance(value, list | tuple):
        return tuple(_token(item, seen) for item in value)
    if isinstance(value, float | complex):
        return repr(value)
    return type(value), value
