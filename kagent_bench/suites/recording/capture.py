"""Records every ATen call that is dispatched while a sample runs, one of each signature."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kagent_bench.suites.recording.elements import special_values
from kagent_bench.suites.recording.specification import Arguments, Unrepresentable, specify

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

ORIGINS = ("direct", "inplace", "inner", "backward", "reference")
"""Where recorded calls come from; of two equal ones the earlier origin is kept."""

EXAMINED_PER_SHAPE = 2
"""Calls of equal shapes and scalars whose values are looked at, in search of another kind of values."""

MAX_SIGNATURES = 240
"""Calls of one operator that are kept at most; the rest differ in what the kept ones vary already."""


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


class CallRecorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Collects calls; those of a sample are kept only when the sample has run to its end."""

    def __init__(self) -> None:
        """Start with nothing recorded."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._operators: dict[torch._ops.OpOverload, dict[Hashable, _Shape]] = {}
        self._calls: list[_Call] = []
        self._left_out: list[tuple[torch._ops.OpOverload, str]] = []
        self.left_out: dict[torch._ops.OpOverload, Counter[str]] = {}
        """Calls that a case cannot hold, by operator and reason."""

    def __torch_dispatch__(
        self,
        func: Any,  # noqa: ANN401 - torch's signature
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - torch's signature
        """Record the call, then run it."""
        del types
        named = kwargs or {}
        if func.namespace == "aten":
            self._note(func, args, named)
        else:
            self._left_out.append((func, "not_aten"))
        return func(*args, **named)

    def _note(self, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            key = _shape_key(args, kwargs)
            shapes = self._operators.setdefault(func, {})
            shape = shapes.get(key)
            if shape is None:
                if len(shapes) >= MAX_SIGNATURES:
                    self._left_out.append((func, "enough_signatures"))
                    return
                shape = shapes[key] = _Shape()
            if shape.examined >= EXAMINED_PER_SHAPE:
                self._calls.append(_Call(func, key, None))
                return
            arguments = specify(args, kwargs)
            values = tuple(special_values(storage) for storage in arguments.storages)
        except Unrepresentable as error:
            self._left_out.append((func, str(error)))
        else:
            shape.examined += 1
            self._calls.append(_Call(func, key, (values, arguments)))

    def commit(self, origin: str, *, direct: bool = False) -> None:
        """Keep what was recorded since the last ``commit`` or ``discard``.

        Args:
            origin: where the calls come from, one of ``ORIGINS``.
            direct: a sample that was exactly one call makes its origin ``direct``.
        """
        alone = len(self._calls) + len(self._left_out) == 1
        for call in self._calls:
            self._keep(call, "direct" if direct and alone else origin)
        for func, reason in self._left_out:
            self.left_out.setdefault(func, Counter())[reason] += 1
        self.discard()

    def discard(self) -> None:
        """Forget what was recorded since the last ``commit`` or ``discard``."""
        self._calls.clear()
        self._left_out.clear()

    def _keep(self, call: _Call, origin: str) -> None:
        shape = self._operators[call.operator][call.shape_key]
        if call.found is None:
            if not shape.kinds:
                return
            known: Recorded | None = next(iter(shape.kinds.values()))
        else:
            known = shape.kinds.get(call.found[0])
        if known is not None:
            known.count += 1
            known.origin = min(known.origin, origin, key=ORIGINS.index)
        elif call.found is not None:
            values, arguments = call.found
            shape.kinds[values] = Recorded(call.operator, arguments, values, origin)

    def recorded(self) -> Iterator[tuple[torch._ops.OpOverload, list[Recorded]]]:
        """Yield each operator with its signatures, by origin, then in the order of recording."""
        for operator, shapes in sorted(self._operators.items(), key=lambda item: str(item[0])):
            found = [recorded for shape in shapes.values() for recorded in shape.kinds.values()]
            if found:
                yield operator, sorted(found, key=lambda item: ORIGINS.index(item.origin))


def _shape_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hashable:
    seen: dict[int, int] = {}
    key = tuple(_token(value, seen) for value in args)
    return key, tuple((name, _token(value, seen)) for name, value in kwargs.items())


def _token(value: Any, seen: dict[int, int]) -> Hashable:  # noqa: ANN401 - any argument
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
