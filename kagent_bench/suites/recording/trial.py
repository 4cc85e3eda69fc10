"""Tries a specification out in eager mode and says what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from kagent_bench.model.call_text import is_contiguous
from kagent_bench.suites.recording.replay import materialise

if TYPE_CHECKING:
    from kagent_bench.model.case import TensorSpec
    from kagent_bench.suites.recording.specification import Arguments

MAX_GROWTH = 1e4
"""Fresh values that make outputs so many times larger than the sample's leave the operator's sane domain,
as random matrices do that are nearly singular."""


LAYOUT_TOLERANCE = 1e-2
"""Relative difference that another order of summation may make in half precision; other elements make more."""


@dataclass(frozen=True, slots=True)
class Output:
    """What matters of one output tensor."""

    kind: str
    """``float``, ``info`` (32-bit integers, as the error codes of linear algebra) or ``exact``."""
    finite: bool
    all_nan: bool
    largest: float
    """Largest finite magnitude."""
    numel: int


def attempt(operator: Any, arguments: Arguments, seed: int) -> tuple[Output, ...] | None:
    """Run an operator once on fresh values; None if it raises."""
    generator = torch.Generator().manual_seed(seed)
    torch.default_generator.manual_seed(seed)
    try:
        args, kwargs = materialise(arguments.args, arguments.kwargs, arguments.storages, generator)
        result = operator(*args, **kwargs)
        leaves = [item for item in tree_leaves(result) if isinstance(item, torch.Tensor)]
        return tuple(_examine(item) for item in leaves)
    except Exception:  # noqa: BLE001 - eager's refusal is the answer
        return None


def heeds_layout(operator: Any, arguments: Arguments) -> bool:
    """Return whether an operator gives the same for tensors that lie otherwise in memory as for plain ones.

    Some that PyTorch only calls on contiguous tensors read the memory of others as if it were contiguous.
    """
    plain = all(_is_plain(item.tensor) for item in arguments.tensors())
    if plain:
        return True
    try:
        as_it_is, copied = (run(operator, arguments, copied=copied) for copied in (False, True))
        return all(
            left.shape == right.shape and torch.allclose(left, right, rtol=LAYOUT_TOLERANCE, equal_nan=True)
            for left, right in zip(as_it_is, copied, strict=True)
        )
    except Exception:  # noqa: BLE001 - eager's refusal is the answer
        return False


def run(operator: Any, arguments: Arguments, *, copied: bool = False) -> list[torch.Tensor]:
    """Return the tensors that an operator gives for the same fresh values each time; it may raise anything.

    Args:
        operator: the live overload.
        arguments: the call.
        copied: whether tensors are laid out plainly, one by one.
    """
    generator = torch.Generator().manual_seed(1)
    torch.default_generator.manual_seed(1)
    args, kwargs = materialise(arguments.args, arguments.kwargs, arguments.storages, generator)
    if copied:
        args, kwargs = tree_map_only(torch.Tensor, _plain_copy, (args, kwargs))
    return [item for item in tree_leaves(operator(*args, **kwargs)) if isinstance(item, torch.Tensor)]


def _is_plain(tensor: TensorSpec) -> bool:
    return tensor.offset == 0 and is_contiguous(tensor.shape, tensor.stride)


def _plain_copy(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _examine(output: torch.Tensor) -> Output:
    if output.numel() == 0 or output.layout != torch.strided:
        return Output("exact", finite=True, all_nan=False, largest=0.0, numel=output.numel())
    if not (output.dtype.is_floating_point or output.dtype.is_complex):
        if output.dtype != torch.int32:
            return Output("exact", finite=True, all_nan=False, largest=0.0, numel=output.numel())
        return Output(
            "info", finite=True, all_nan=False, largest=float(output.abs().max()), numel=output.numel()
        )
    magnitude = output.abs()
    if magnitude.dtype in {torch.float16, torch.bfloat16}:
        magnitude = magnitude.float()
    largest = float(magnitude.max())
    if largest - largest == 0:
        return Output("float", finite=True, all_nan=False, largest=largest, numel=output.numel())
    finite = magnitude[torch.isfinite(magnitude)]
    return Output(
        "float",
        finite=False,
        all_nan=bool(torch.isnan(magnitude).all()),
        largest=float(finite.max()) if finite.numel() else 0.0,
        numel=output.numel(),
    )


def is_sound(outputs: tuple[Output, ...] | None, sample: tuple[Output, ...]) -> bool:
    """Whether fresh values keep an operator in the domain that its sample showed."""
    if outputs is None or len(outputs) != len(sample):
        return False
    return all(_keeps_domain(fresh, shown) for fresh, shown in zip(outputs, sample, strict=True))


def _keeps_domain(fresh: Output, shown: Output) -> bool:
    if fresh.kind == "info" or shown.kind == "info":
        return shown.largest > 0 or fresh.largest == 0
    if shown.finite and not fresh.finite:
        return False
    if fresh.all_nan and not shown.all_nan:
        return False
    return fresh.largest <= MAX_GROWTH * max(shown.largest, 1.0)
