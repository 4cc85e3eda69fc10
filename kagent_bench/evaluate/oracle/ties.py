"""Index outputs that ties leave open, judged by the values that they select."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.contract import named_arguments
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.case import Case

PLANES = {
    "max_pool2d_with_indices": 2,
    "max_pool3d_with_indices": 3,
    "adaptive_max_pool2d": 2,
    "adaptive_max_pool3d": 3,
}
"""Operators whose indices count the elements of the last so many dimensions together."""

EACH_ONCE = frozenset(["argsort", "sort", "topk"])
"""Operators whose indices name no element twice, however many are equal."""


def select_the_same(
    case: Case,
    storages: Sequence[torch.Tensor],
    got: torch.Tensor,
    expected: torch.Tensor,
    argument_names: Sequence[str],
) -> bool:
    """Return whether index outputs select equal values of the first tensor argument.

    Args:
        case: the call.
        storages: its storages before it.
        got: the candidate's indices.
        expected: eager's, of the same shape.
        argument_names: names of the operator's parameters.
    """
    source = reference.build(case.args[0], storages, torch.device("cpu"), wide=False)
    arguments = named_arguments(case, argument_names)
    name = case.operator
    if got.numel() == 0 or not isinstance(source, torch.Tensor) or not isinstance(name, OperatorName):
        return False
    if arguments.get("stable") is True:
        return False
    base = name.base
    if base in PLANES:
        n_last = PLANES[base]
        return _selects(source.flatten(-n_last), -1, got.flatten(-n_last), expected.flatten(-n_last))
    dim = arguments.get("dim", None if base in {"argmax", "argmin", "median", "nanmedian"} else -1)
    if dim is None:
        return _selects(source.flatten(), 0, got.flatten(), expected.flatten())
    if not isinstance(dim, int):
        return False
    if source.dim() == 0:
        source, dim = source.unsqueeze(0), 0
    left, right = (
        index if index.dim() == source.dim() else index.unsqueeze(dim) for index in (got, expected)
    )
    if base in EACH_ONCE and not _each_once(left, dim):
        return False
    return _selects(source, dim, left, right)


def _selects(source: torch.Tensor, dim: int, got: torch.Tensor, expected: torch.Tensor) -> bool:
    if bool(((got < 0) | (got >= source.shape[dim])).any()):
        return False
    left, right = source.gather(dim, got.long()), source.gather(dim, expected.long())
    return bool(((left == right) | (torch.isnan(left) & torch.isnan(right))).all())


def _each_once(indices: torch.Tensor, dim: int) -> bool:
    ordered = indices.sort(dim).values
    length = ordered.shape[dim]
    return not bool((ordered.narrow(dim, 0, length - 1) == ordered.narrow(dim, 1, length - 1)).any())
