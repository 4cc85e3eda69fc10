"""Index outputs that ties leave open, judged by the values that they select."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.case import Case


def select_the_same(
    case: Case, storages: Sequence[torch.Tensor], got: torch.Tensor, expected: torch.Tensor
) -> bool:
    """Return whether index outputs select equal values of the first tensor argument along its reduced dimension."""
    source = reference.build(case.args[0], storages, torch.device("cpu"), wide=False)
    numbers = [value for value in case.args[1:] if isinstance(value, int) and not isinstance(value, bool)]
    if got.numel() == 0 or not isinstance(source, torch.Tensor) or source.dim() == 0:
        return False
    if got.shape == expected.shape == torch.Size([]):
        flat = source.flatten()
        return bool(0 <= int(got) < flat.numel() and _equal(flat[int(got)], flat[int(expected)]))
    dims = [number for number in numbers if -source.dim() <= number < source.dim()]
    for dim in [*dims, *range(source.dim())]:
        left, right = (
            index if index.dim() == source.dim() else index.unsqueeze(dim) for index in (got, expected)
        )
        fits = all(
            size <= source.shape[place]
            for place, size in enumerate(left.shape)
            if place != dim % source.dim()
        )
        inside = bool(((left >= 0) & (left < source.shape[dim])).all())
        if fits and inside and bool((right < source.shape[dim]).all()):
            return _equal(source.gather(dim, left), source.gather(dim, right))
    return False


def _equal(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(((left == right) | (torch.isnan(left) & torch.isnan(right))).all())
