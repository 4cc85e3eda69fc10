"""The parameters of a module's kernel: one for each argument, sequences unpacked into the program's inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.model.case import Case, Value
    from kagent_bench.model.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """How a kernel takes a module's arguments."""

    names: tuple[str, ...]
    """One for each argument, in order."""
    unpacked: tuple[str, ...]
    """Assignments that take sequences apart, as ``[h, c] = arguments_1``."""


def parameters_of(program: Program, case: Case) -> Parameters:
    """Return the parameters for a program's arguments as its case has them; its state is not among them."""
    taken = set(program.facts())
    leaves = iter(item.name for item in program.inputs)
    names: list[str] = []
    unpacked: list[str] = []
    for index, value in enumerate(case.args):
        if not isinstance(value, tuple):
            names.append(next(leaves))
            continue
        name = f"arguments_{index}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
        unpacked.append(f"{_pattern(value, leaves)} = {name}")
    return Parameters(names=tuple(names), unpacked=tuple(unpacked))


def _pattern(value: Value, leaves: Iterator[str]) -> str:
    if not isinstance(value, tuple):
        return next(leaves)
    return f"[{', '.join(_pattern(item, leaves) for item in value)}]"
