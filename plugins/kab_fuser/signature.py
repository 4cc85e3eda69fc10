"""Regions under neutral names: equal structure, shapes, strides and dtypes make equal programs, and one kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kagent_bench.model.case import (
    Case,
    IntegerValues,
    LiteralValues,
    StorageSpec,
    TensorSpec,
    UniformValues,
    ValueRule,
)
from kagent_bench.model.identity import digest, make_case
from kagent_bench.model.names import ModuleName
from kagent_bench.model.program import GET_ITEM, Module, Program, TensorFacts
from kagent_bench.model.program_json import encode_program
from kagent_bench.model.rename import renamed
from kagent_bench.model.selection import OperatorCases

if TYPE_CHECKING:
    from collections.abc import Mapping

DIGITS = 12
"""Hexadecimal digits of a signature; 48 bits keep a collision among a million regions under 0.2 %."""
RANGE = UniformValues(low=-2.0, high=2.0)
"""How an intermediate value is drawn: of order one, as activations are, of both signs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A region as a problem of its own."""

    name: str
    """Hash of the neutral program."""
    program: Program
    """The region under neutral names."""


def signature_of(region: Program) -> Signature:
    """Return a region's signature."""
    names: dict[str, str] = {}
    for index, item in enumerate(region.inputs):
        names[item.name] = f"input_{index}"
    counts: dict[str, int] = {}
    for node in region.nodes:
        base = "item" if node.operator == GET_ITEM else node.operator.split(".")[1].strip("_")
        number = counts.get(base, 0)
        counts[base] = number + 1
        names[node.name] = f"{base}_{number}"
    neutral = renamed(region, names)
    neutral = replace(neutral, nodes=tuple(replace(node, where="", line="") for node in neutral.nodes))
    return Signature(name=digest(encode_program(neutral))[:DIGITS], program=neutral)


def problem_of(signature: Signature, rules: Mapping[str, ValueRule], source: str) -> OperatorCases:
    """Return a region as a module problem with its case.

    Args:
        signature: the region.
        rules: how an input is drawn where that is known, by its neutral name.
        source: the region as PyTorch code.
    """
    name = ModuleName(f"region_{signature.name}")
    storages: list[StorageSpec] = []
    args = []
    for item in signature.program.inputs:
        assert item.facts is not None
        args.append(TensorSpec(storage=len(storages), shape=item.facts.shape, stride=item.facts.stride))
        storages.append(storage_of(item.facts, rules.get(item.name)))
    case: Case = make_case(
        name,
        tuple(args),
        (),
        tuple(storages),
        dtype=next(
            (item.dtype for item in storages if item.dtype.startswith(("float", "bfloat"))), storages[0].dtype
        ),
        origin="module",
        program_sha256=digest(encode_program(signature.program)),
    )
    module = Module(name=name, program=signature.program, source=source, init=None)
    return OperatorCases(operator=name, kind="module", cases=(case,), module=module)


def storage_of(facts: TensorFacts, rule: ValueRule | None) -> StorageSpec:
    """Return a storage for a tensor whose values are drawn by a rule, of order one where that is not known."""
    extent = 0
    if facts.numel:
        extent = 1 + sum((size - 1) * step for size, step in zip(facts.shape, facts.stride, strict=True))
    if rule is None or (isinstance(rule, LiteralValues)):
        if facts.dtype == "bool":
            rule = IntegerValues(low=0, high=1)
        elif facts.dtype.startswith(("float", "bfloat", "complex")):
            rule = RANGE
        else:
            rule = IntegerValues(low=0, high=0)
    return StorageSpec(dtype=facts.dtype, numel=extent, rule=rule)
