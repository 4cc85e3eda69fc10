"""The finer calls that an operator is made of: PyTorch's decomposition, watched while it runs without values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch._decomp import decomposition_table

from kab_fuser.library import computes
from kab_fuser.signature import storage_of
from kab_fuser.tensor_facts import facts_of
from kagent_bench.model.case import Case, SymbolSpec, TensorSpec, Value
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.program import GET_ITEM, Input, Node, NodeRef, Program
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from torch._ops import OpOverload

FILL = "aten.scalar_tensor.default"
"""A fill under a name of its own."""
MODES = (0, 1, 2)
"""What numbers that choose among ways of computing are: reductions, interpolations, borders."""
MAX_CASES = 8
"""Calls that are shown of a finer operator, the first ones of different arguments."""


class Undone(Exception):
    """The operator cannot be composed; the text says why."""


def decomposition(operator: OpOverload) -> Callable[..., Any] | None:
    """Return PyTorch's own way to make a call of finer ones, None where it has none."""
    found = decomposition_table.get(operator)
    if found is None and operator.has_kernel_for_dispatch_key(
        torch._C.DispatchKey.CompositeImplicitAutograd  # noqa: SLF001 - its only name
    ):
        return operator.decompose
    return found


class CallWatch(DispatchWatch):  # type: ignore[no-untyped-call]
    """Notes which calls compute, decomposing those that are to be."""

    def __init__(self, finer: frozenset[str], dtype: str, found: dict[str, list[Case]]) -> None:
        """Begin.

        Args:
            finer: calls that are decomposed.
            dtype: of the cases.
            found: some cases of each call that computes; more are added.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        self._finer = finer
        self._dtype = dtype
        self._found = found
        self.calls: list[Program] = []
        """Each call by itself, in order."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Decompose a call, or make it and note it."""
        name, kwargs = str(func), kwargs or {}
        if name in self._finer:
            made = decomposition(func)
            if made is None:
                raise Undone(f"PyTorch has no decomposition of {name.removeprefix('aten.')}")
            with self:
                result = made(*args, **kwargs)
            if result is NotImplemented:
                raise Undone(f"PyTorch does not decompose {name.removeprefix('aten.')} for these arguments")
            return result
        result = func(*args, **kwargs)
        if computes(name) and name != FILL:
            self._note(name, args, kwargs, result)
        return result

    def _note(self, name: str, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        call = _call(name, args, kwargs, result)
        self.calls.append(call)
        cases = self._found.setdefault(name, [])
        case = _case(call, self._dtype)
        if len(cases) < MAX_CASES and all(case.id != known.id for known in cases):
            cases.append(case)


def live_arguments(case: Case) -> tuple[list[Any], dict[str, Any]]:
    """Return a case's arguments, tensors without values."""
    flat = [torch.empty(item.numel, dtype=getattr(torch, item.dtype)) for item in case.storages]

    def live(value: Value) -> Any:
        if isinstance(value, TensorSpec):
            return flat[value.storage].as_strided(value.shape, value.stride, value.offset)
        if isinstance(value, SymbolSpec):
            return "cpu" if value.kind == "device" else getattr(torch, value.name)
        return [live(item) for item in value] if isinstance(value, tuple) else value

    return [live(item) for item in case.args], {name: live(item) for name, item in case.kwargs}


def variants(case: Case) -> Iterator[Case]:
    """Yield a case with each truth turned, and each small number another: ways that no case may take."""
    for index, value in enumerate(case.args):
        others: tuple[Value, ...] = ()
        if isinstance(value, bool):
            others = (not value,)
        elif isinstance(value, int) and value in MODES:
            others = tuple(item for item in MODES if item != value)
        for other in others:
            yield replace(case, args=(*case.args[:index], other, *case.args[index + 1 :]))


def _call(name: str, args: Any, kwargs: dict[str, Any], result: Any) -> Program:
    """Return a call as a program of its own, whose tensors are arguments."""
    inputs: list[Input] = []

    def argument(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            inputs.append(Input(name=f"input_{len(inputs)}", facts=facts_of(item)))
            return NodeRef(name=inputs[-1].name)
        if isinstance(item, torch.dtype | torch.layout | torch.memory_format):
            return SymbolSpec(kind=type(item).__name__, name=str(item).removeprefix("torch."))
        if isinstance(item, torch.device):
            return SymbolSpec(kind="device", name="target")
        return tuple(map(argument, item)) if isinstance(item, list | tuple) else item

    made = result if isinstance(result, list | tuple) else (result,)
    facts = tuple(facts_of(item) if isinstance(item, torch.Tensor) else None for item in made)
    named = tuple((key, argument(item)) for key, item in kwargs.items())
    node = Node(name="call", operator=name, args=tuple(map(argument, args)), kwargs=named, results=facts)
    parts = tuple(
        Node(name=f"item_{index}", operator=GET_ITEM, args=(NodeRef(name="call"), index), results=(item,))
        for index, item in enumerate(facts if len(facts) > 1 else ())
    )
    output = tuple(NodeRef(name=item.name) for item in parts) or NodeRef(name="call")
    return Program(inputs=tuple(inputs), state=(), constants=(), nodes=(node, *parts), output=output)


def _case(call: Program, dtype: str) -> Case:
    """Return a call as a case; its tensors' values are drawn afresh."""
    places = {item.name: index for index, item in enumerate(call.inputs)}
    facts = [item.facts for item in call.inputs if item.facts is not None]

    def value(item: Any) -> Value:
        if isinstance(item, NodeRef):
            index = places[item.name]
            return TensorSpec(storage=index, shape=facts[index].shape, stride=facts[index].stride)
        return tuple(map(value, item)) if isinstance(item, tuple) else item

    node = call.nodes[0]
    return make_case(
        OperatorName.parse(node.operator),
        tuple(map(value, node.args)),
        tuple((key, value(item)) for key, item in node.kwargs),
        tuple(storage_of(item, None) for item in facts),
        dtype=dtype,
        origin="direct",
    )
