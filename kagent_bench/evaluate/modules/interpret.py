"""Running a program: the ATen calls of its nodes one after the other, eagerly or widened to float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.model.case import LiteralValues, SymbolSpec
from kagent_bench.model.program import GET_ITEM, NodeRef, Program

if TYPE_CHECKING:
    from kagent_bench.model.program import Constant, Node

NAMESPACE = "aten"
"""The only operator library that a program's nodes come from."""
WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
"""The dtype that the exact result is computed in."""

Call = Callable[[], Any]
"""Runs a node's call and returns its value."""
Watch = Callable[["Node", list[Any], dict[str, Any], Call], Any]
"""Sees a node's arguments and runs its call; what it returns takes the value's place."""


class ProgramRun:
    """A program as a callable: arguments by position, parameters and buffers by name.

    The values that the program writes into its inputs are written at the end of the call.
    """

    def __init__(self, program: Program, *, wide: bool = False, watch: Watch | None = None) -> None:
        """Take a program.

        Args:
            program: what to run.
            wide: whether floating-point arguments come in float64 and dtype arguments mean float64.
            watch: runs the call of every node, and may change its value.
        """
        self.program = program
        self._wide = wide
        self._watch = watch
        self.argument_names = [item.name for item in program.inputs]

    def widened(self) -> ProgramRun:
        """Return the same program for float64 arguments."""
        return ProgramRun(self.program, wide=True, watch=self._watch)

    def watched(self, watch: Watch) -> ProgramRun:
        """Return the same program with every node's call run by ``watch``."""
        return ProgramRun(self.program, wide=self._wide, watch=watch)

    def __call__(self, *args: Any, **state: torch.Tensor) -> Any:
        """Run the program; returns what the module returns, dictionaries as lists of their values."""
        with _default_dtype(torch.float64 if self._wide else torch.get_default_dtype()):
            return self._run(args, state)

    def _run(self, args: tuple[Any, ...], state: dict[str, torch.Tensor]) -> Any:
        leaves = _flatten(args)
        device = next((leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)), None)
        device = device or next((item.device for item in state.values()), torch.device("cpu"))
        values: dict[str, Any] = {
            item.name: leaf for item, leaf in zip(self.program.inputs, leaves, strict=True)
        }
        values.update(state)
        for constant in self.program.constants:
            values[constant.name] = self._constant(constant, device)
        for node in self.program.nodes:
            given = [self._resolve(value, values, device) for value in node.args]
            named = {name: self._resolve(value, values, device) for name, value in node.kwargs}
            call = partial(_call, node.operator, given, named)
            values[node.name] = call() if self._watch is None else self._watch(node, given, named, call)
        # What is written may look at what is written over: read all, then write.
        written = [(values[target], values[source].clone()) for target, source in self.program.writes]
        result = self._resolve(self.program.output, values, device)
        for target, source in written:
            target.copy_(source)
        return result

    def _constant(self, constant: Constant, device: torch.device) -> torch.Tensor:
        dtype: torch.dtype = getattr(torch, constant.storage.dtype)
        rule = constant.storage.rule
        assert isinstance(rule, LiteralValues)
        flat = torch.frombuffer(bytearray(rule.data), dtype=torch.uint8).view(dtype) if rule.data else None
        if flat is None:
            flat = torch.empty(0, dtype=dtype)
        if self._wide:
            flat = flat.to(WIDER.get(dtype, dtype))
        tensor = constant.tensor
        return flat.to(device).as_strided(tensor.shape, tensor.stride, tensor.offset)

    def _resolve(self, value: Any, values: dict[str, Any], device: torch.device) -> Any:
        if isinstance(value, NodeRef):
            return values[value.name]
        if isinstance(value, tuple):
            return [self._resolve(item, values, device) for item in value]
        if isinstance(value, SymbolSpec):
            if value.kind == "device":
                return device if value.name == "target" else torch.device(value.name)
            symbol = getattr(torch, value.name)
            return WIDER.get(symbol, symbol) if self._wide and value.kind == "dtype" else symbol
        return value


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make tensors that are created without a dtype, or are quotients of integers, of this one."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@lru_cache(maxsize=4096)
def find_operator(name: str) -> torch._ops.OpOverload:
    """Return torch's operator.

    Args:
        name: as ``aten.add.Tensor``.

    Raises:
        AttributeError: torch has no such operator, or it is of another library.
    """
    namespace, base, overload = name.split(".")
    if namespace != NAMESPACE:
        raise AttributeError(name)
    return getattr(getattr(torch.ops.aten, base), overload)  # type: ignore[no-any-return]


def _call(operator: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if operator == GET_ITEM:
        return args[0][args[1]]
    if operator == "aten.view.default":
        # What a library call returns lies as its algorithm likes, which depends on device and dtype.
        return args[0].reshape(args[1])
    return find_operator(operator)(*args, **kwargs)


def _flatten(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flatten(item)]
    return [value]
