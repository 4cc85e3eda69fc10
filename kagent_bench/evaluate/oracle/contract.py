"""The contract of a call apart from its values: arity, type, shape, dtype, device, aliasing, and what was written."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle.finding import Finding
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.verdict import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kagent_bench.evaluate.arena import Layout
    from kagent_bench.evaluate.oracle.reference import Outcome
    from kagent_bench.evaluate.oracle.returned import Leaf
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case, Value


def structure_of(value: object) -> Any:
    """Return the nesting of a returned object."""
    if isinstance(value, torch.Tensor):
        return "tensor"
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return [structure_of(item) for item in value]
    return ("number", value)


def check_structure(got: Any, expected: Any) -> Finding | None:
    """Compare arity and the kinds of what was returned; numbers are compared exactly."""
    if got == expected or (
        isinstance(got, tuple) and isinstance(expected, tuple) and _same_number(got, expected)
    ):
        return None
    if isinstance(got, list) and isinstance(expected, list) and len(got) == len(expected):
        for item, other in zip(got, expected, strict=True):
            finding = check_structure(item, other)
            if finding is not None:
                return finding
        return None
    return _failed("arity", f"returned {_words(got)}, expected {_words(expected)}")


def _same_number(got: tuple[Any, ...], expected: tuple[Any, ...]) -> bool:
    left, right = got[1], expected[1]
    if got[0] != "number" or expected[0] != "number":
        return False
    both_nan = all(isinstance(number, float) and math.isnan(number) for number in (left, right))
    return bool(left == right or both_nan)


def _words(structure: Any) -> str:
    if isinstance(structure, list):
        return "(" + ", ".join(_words(item) for item in structure) + ")"
    if isinstance(structure, tuple):
        return f"{structure[1]!r}" if structure[0] == "number" else f"an object of type {structure[1]}"
    return {"tensor": "a tensor", "none": "None"}.get(structure, str(structure))


def check_metadata(
    leaf: Leaf, expected: torch.Tensor, region: int | None, device: str, where: str
) -> Finding | None:
    """Compare everything of one output that is not its values.

    Args:
        leaf: what the candidate returned.
        expected: eager's output.
        region: storage that eager's output looks at, None for a fresh one.
        device: kind of device that the output must be on.
        where: the output in words.
    """
    if not leaf.plain:
        return _failed(
            "type", f"{where} is a {leaf.type_name} with behaviour of its own, not a plain torch.Tensor"
        )
    dtype = str(expected.dtype).removeprefix("torch.")
    if leaf.dtype != dtype:
        return _failed("dtype", f"{where} has dtype {leaf.dtype}, expected {dtype}")
    if leaf.shape != tuple(expected.shape):
        return _failed("shape", f"{where} has shape {list(leaf.shape)}, expected {list(expected.shape)}")
    if leaf.device.partition(":")[0] != device:
        return _failed("device", f"{where} is on {leaf.device}, expected {device}")
    if leaf.layout != "torch.strided":
        return _failed("layout", f"{where} has layout {leaf.layout}, expected torch.strided")
    if region is None:
        if leaf.region is not None and 0 not in leaf.shape:
            return _failed("aliasing", f"{where} shares memory with an input, expected memory of its own")
        return None
    if leaf.region != region:
        return _failed(
            "aliasing", f"{where} must share memory with its input (the schema says so) and does not"
        )
    if leaf.offset != expected.storage_offset() or leaf.stride != expected.stride():
        return _failed(
            "aliasing",
            f"{where} looks at offset {leaf.offset} with strides {list(leaf.stride)} of its input, "
            f"expected offset {expected.storage_offset()} with strides {list(expected.stride())}",
        )
    return None


def check_guards(
    before: bytes | bytearray, after: bytes | bytearray, layout: Layout, names: Sequence[str]
) -> Finding | None:
    """Compare the bytes around the inputs: a changed one was written out of bounds."""
    if before == after:
        return None
    position = 0
    for index, region in enumerate(layout.regions):
        end = region.offset + region.n_bytes
        if before[position : region.offset] != after[position : region.offset]:
            return _failed("out_of_bounds_write", f"bytes before {names[index]} were overwritten")
        following = (
            layout.regions[index + 1].offset if index + 1 < len(layout.regions) else layout.input_bytes
        )
        if before[end:following] != after[end:following]:
            return _failed("out_of_bounds_write", f"bytes after {names[index]} were overwritten")
        position = following
    return None


def check_unchanged(
    before: bytes | bytearray,
    after: bytes | bytearray,
    layout: Layout,
    names: Sequence[str],
    writable: frozenset[int],
) -> Finding | None:
    """Compare the inputs that must not be written."""
    if before == after:
        return None
    for index, region in enumerate(layout.regions):
        place = slice(region.offset, region.offset + region.n_bytes)
        if index not in writable and before[place] != after[place]:
            return _failed("mutated_input", f"{names[index]} was changed; the schema does not allow it")
    return None


def check_surroundings(
    before: bytes | bytearray,
    after: bytes | bytearray,
    layout: Layout,
    case: Case,
    argument_names: Sequence[str],
    writable: frozenset[int],
) -> Finding | None:
    """Check that a written storage changed only where its arguments look."""
    names = storage_names(case, argument_names)
    for storage in writable:
        region = layout.regions[storage]
        if not region.n_bytes:
            continue
        place = slice(region.offset, region.offset + region.n_bytes)
        touched = torch.zeros(case.storages[storage].numel, dtype=torch.bool)
        for _, spec in named_tensors(case, argument_names):
            if spec.storage == storage:
                torch.as_strided(touched, spec.shape, spec.stride, spec.offset).fill_(value=True)
        old, new = (torch.frombuffer(bytearray(data[place]), dtype=torch.uint8) for data in (before, after))
        item = region.n_bytes // max(1, case.storages[storage].numel)
        changed = (old != new).view(-1, item).any(dim=1)
        if bool((changed & ~touched).any()):
            detail = f"{names[storage]}: elements between those that it looks at were overwritten"
            return _failed("out_of_bounds_write", detail)
    return None


def written_storages(case: Case, semantics: Semantics, argument_names: Sequence[str]) -> frozenset[int]:
    """Return the storages that the schema allows to be written."""
    return frozenset(
        tensor.storage
        for name, tensor in named_tensors(case, argument_names)
        if name.partition("[")[0] in semantics.mutated
    )


def argument_names(operator: Callable[..., Any]) -> Sequence[str]:
    """Return the names of an operator's or a module's parameters, as far as they are known."""
    if isinstance(operator, ProgramRun):
        return operator.argument_names
    schema = getattr(operator, "_schema", None)
    return [] if schema is None else [argument.name for argument in schema.arguments]


def storage_names(case: Case, argument_names: Sequence[str]) -> tuple[str, ...]:
    """Return for each storage the arguments that look at it, in words."""
    names: list[list[str]] = [[] for _ in case.storages]
    for name, tensor in named_tensors(case, argument_names):
        names[tensor.storage].append(name)
    return tuple("argument " + " and ".join(f"'{name}'" for name in group) for group in names)


def named_tensors(case: Case, argument_names: Sequence[str]) -> Iterator[tuple[str, TensorSpec]]:
    """Yield every tensor argument with its name, as ``tensors[1]`` inside a list."""
    for index, value in enumerate(case.args):
        name = argument_names[index] if index < len(argument_names) else f"argument {index}"
        yield from _named(name, value)
    for name, value in case.kwargs:
        yield from _named(name, value)


def named_arguments(case: Case, argument_names: Sequence[str]) -> dict[str, Value]:
    """Return every given argument under the name of its parameter."""
    return {**dict(zip(argument_names, case.args, strict=False)), **dict(case.kwargs)}


def _named(name: str, value: Value) -> Iterator[tuple[str, TensorSpec]]:
    if isinstance(value, TensorSpec):
        yield name, value
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _named(f"{name}[{index}]", item)


def expected_region(outcome: Outcome, leaf: torch.Tensor) -> int | None:
    """Return the storage that eager's output looks at, None for a fresh one."""
    return outcome.alias_of(leaf) if leaf.numel() else None


def _failed(reason: str, detail: str) -> Finding:
    return Finding(status=CaseStatus.FAILED, reason=reason, detail=detail)
