"""Which formula of the definitions a call stands for, with its arguments bound: numbers known, tensors open."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from kab_baseline import primitives as p
from kab_baseline import registry
from kab_baseline.definition import Pointwise, Result, Rows, Variant
from kab_baseline.library import HOST_TEXTS, functions
from kab_baseline.regions.axes import Unfusable
from kab_baseline.signature import Signature, Writes, read_signature
from kagent_bench.model.case import SymbolSpec
from kagent_bench.model.names import OperatorName
from kagent_bench.model.program import NodeRef

if TYPE_CHECKING:
    from kagent_bench.model.program import Node, TensorFacts


POWERS: Mapping[float, Callable[..., Any]] = {
    -1.0: lambda self: 1.0 / self,
    -0.5: p.rsqrt,
    0.5: p.sqrt,
    1.0: lambda self: self,
    2.0: lambda self: self * self,
    3.0: lambda self: self * self * self,
    4.0: lambda self: (self * self) * (self * self),
}
"""Powers by a known number that take a few products; any other takes a logarithm in fp64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula:
    """A formula over named operands."""

    body: Callable[..., Any]
    names: tuple[str, ...]
    """Operands of the body in order."""
    tensors: Mapping[str, str]
    """Operands that are tensors: the name of the value in the program."""
    numbers: Mapping[str, float | int | bool]
    """Operands that are numbers."""
    unpromoted: tuple[str, ...]
    """Tensors that are read as conditions."""
    is_truth: bool
    """Whether the result is boolean."""
    rows: Rows | None = None
    """For a reduction or normalisation: its definition."""
    dims: tuple[int, ...] = ()
    """Dimensions that form a row."""
    first: str = ""
    """The operand that has the full shape."""


@cache
def _host() -> dict[str, Any]:
    """Return the host functions that conditions and dimensions of definitions may call."""
    namespace: dict[str, Any] = {"torch": torch, "math": math, "struct": struct}
    for source in functions(HOST_TEXTS).values():
        exec(source, namespace)  # our own texts, the same that generated files carry
    return namespace


def find_formula(node: Node, facts: Mapping[str, TensorFacts | None]) -> Formula | None:
    """Return the formula of a call, None where there is none.

    Raises:
        Unfusable: there is one, but not for these arguments.
    """
    signature = _signature(node.operator)
    if signature is None or signature.writes is not Writes.NEW:
        return None
    base = registry.base_of(signature)
    elementwise = registry.pointwise_of(signature)
    if elementwise is not None:
        return _pointwise(elementwise, signature, node, facts)
    build = registry.rows_builder(base)
    definition = build(signature) if build is not None else None
    if definition is not None:
        return _rows(definition, signature, node, facts)
    return None


@cache
def _signature(operator: str) -> Signature | None:
    try:
        return read_signature(OperatorName.parse(operator))
    except ValueError:
        return None


def arguments(signature: Signature, node: Node) -> dict[str, Any]:
    """Return a call's arguments by name, with defaults; references stay."""
    bound: dict[str, Any] = {
        item.name: eval(item.default, {"inf": math.inf, "nan": math.nan})  # a literal of torch's schema
        for item in signature.inputs
        if item.default is not None
    }
    positional = [item for item in signature.inputs if not item.keyword_only]
    bound.update({item.name: value for item, value in zip(positional, node.args, strict=False)})
    bound.update(dict(node.kwargs))
    return bound


def _concrete(bound: Mapping[str, Any], facts: Mapping[str, TensorFacts | None]) -> dict[str, Any]:
    """Return arguments as conditions see them: tensors without memory, dtypes as torch's."""
    found: dict[str, Any] = {}
    for name, value in bound.items():
        if isinstance(value, NodeRef):
            known = facts.get(value.name)
            if known is None:
                raise Unfusable(f"{value.name} is no tensor")
            found[name] = torch.empty(known.shape, dtype=getattr(torch, known.dtype), device="meta")
        elif isinstance(value, SymbolSpec):
            found[name] = getattr(torch, value.name, None)
        else:
            found[name] = list(value) if isinstance(value, tuple) else value
    return found


def _choose(variants: tuple[Variant, ...], concrete: dict[str, Any]) -> Variant:
    for variant in variants:
        if not variant.when or eval(variant.when, _host(), dict(concrete)):  # a text of our own definitions
            return variant
    raise Unfusable("no formula fits these arguments")


def _operands(
    names: tuple[str, ...],
    bound: Mapping[str, Any],
    concrete: dict[str, Any],
    given: Mapping[str, str],
    dtype: torch.dtype,
    *,
    count: float,
) -> tuple[dict[str, str], dict[str, float | int | bool]]:
    tensors: dict[str, str] = {}
    numbers: dict[str, float | int | bool] = {}
    for name in names:
        value = bound.get(name)
        if isinstance(value, NodeRef):
            tensors[name] = value.name
            continue
        if name == "count" and name not in bound:
            numbers[name] = count
            continue
        number = eval(given[name], _host(), {**concrete, "dtype": dtype}) if name in given else value
        if not isinstance(number, bool | int | float):
            raise Unfusable(f"argument {name} is {type(number).__name__}")
        numbers[name] = number
    return tensors, numbers


def _pointwise(
    definition: Pointwise, signature: Signature, node: Node, facts: Mapping[str, TensorFacts | None]
) -> Formula:
    bound = arguments(signature, node)
    concrete = _concrete(bound, facts)
    variant = _choose(definition.variants, concrete)
    result = node.results[0]
    assert result is not None
    dtype: torch.dtype = getattr(torch, result.dtype)
    body, names = variant.body, variant.operand_names()
    tensors, numbers = _operands(names, bound, concrete, definition.numbers, dtype, count=0)
    if signature.operator.base == "pow" and numbers.get("exponent") in POWERS:
        body, names = POWERS[numbers["exponent"]], ("self",)
    return Formula(
        body=body,
        names=names,
        tensors=tensors,
        numbers=numbers,
        unpromoted=definition.unpromoted,
        is_truth=variant.result is Result.BOOL or result.dtype == "bool",
    )


def _rows(
    definition: Rows, signature: Signature, node: Node, facts: Mapping[str, TensorFacts | None]
) -> Formula:
    bound = arguments(signature, node)
    concrete = _concrete(bound, facts)
    variant = _choose(definition.variants, concrete)
    first = definition.operands[0]
    source = bound.get(first)
    known = facts.get(source.name) if isinstance(source, NodeRef) else None
    if known is None or not isinstance(source, NodeRef):
        raise Unfusable("the reduced operand is no tensor")
    scope = dict(concrete)
    dims = tuple(eval(definition.dims, _host(), scope))
    count = math.prod(known.shape[dim] for dim in dims)
    dtype: torch.dtype = getattr(torch, known.dtype)
    names = variant.operand_names()
    tensors, numbers = _operands(names, bound, concrete, definition.numbers, dtype, count=count)
    return Formula(
        body=variant.body,
        names=names,
        tensors=tensors,
        numbers=numbers,
        unpromoted=(),
        is_truth=False,
        rows=definition,
        dims=dims,
        first=first,
    )
