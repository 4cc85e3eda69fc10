"""Computes those input values that an operator makes of others: sorted ones, saved statistics, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle.reference import ReferenceFailed, build, tensors_in
from kagent_bench.evaluate.oracle.semantics import overload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.model.case import Case, Computation

_CPU = torch.device("cpu")
_HALVES = frozenset([torch.float16, torch.bfloat16])
"""Dtypes that are computed in float32: few operators take them on a CPU, and rounding once is enough."""


def compute_values(case: Case, storages: Sequence[torch.Tensor]) -> None:
    """Carry out the computations of a case, in place.

    Args:
        case: what is computed.
        storages: one flat CPU tensor for each storage, with the values of its rule.

    Raises:
        ReferenceFailed: an operator raised on the values of this round.
    """
    for computation in case.computed:
        _compute(computation, storages)


def _compute(computation: Computation, storages: Sequence[torch.Tensor]) -> None:
    operands = _Raised(storages)
    args = [build(value, operands, _CPU, wide=False) for value in computation.args]
    try:
        with torch.no_grad():
            outputs = tensors_in(overload(computation.operator)(*args))
    except Exception as error:
        message = f"the values of an argument cannot be computed by {computation.operator}: {error}"
        raise ReferenceFailed(message) from error
    target: torch.Tensor = build(computation.target, storages, _CPU, wide=False)
    if target.numel():
        target.copy_(outputs[computation.output].reshape(target.shape))


class _Raised(list[torch.Tensor]):
    """Storages that are turned to float32 when they are looked at, where they hold halves."""

    def __getitem__(self, index: int) -> torch.Tensor:  # type: ignore[override]
        storage = super().__getitem__(index)
        return storage.float() if storage.dtype in _HALVES else storage
