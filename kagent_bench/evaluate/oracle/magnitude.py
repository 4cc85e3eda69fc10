r"""The accumulated magnitude m of an output element: how large the terms are that cancel in it.

An honest kernel's rounding error grows with the terms that it adds, not with their sum. So the bound on its
error is ``tol * (|reference| + m)``, elementwise, with

- for sums of products (``semantics.LINEAR``): m = the operator on absolute values and factors;
- for everything else: m = the larger of \|f(x(1+d)) - f(x)\| / d that both signs of d agree on, a componentwise
  condition number times \|f\| (Higham, Accuracy and Stability of Numerical Algorithms, section 1.6); pointwise
  operators perturb one argument after the other and add up, others use random shares of both signs;
- plus the sizes of the terms of formulas that cancel by nature (``terms``);
- plus 1 for functions that are usually evaluated through values of order one (``semantics.INTERIOR``), times the
  gradient where they are derivatives; in half precision less, as Triton evaluates no transcendental function in it.

Elements that share memory are perturbed apart, as rounding treats them.
There is no tensor-wide scale: an element that nothing large went into must be right to its own size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.terms import TERMS
from kagent_bench.model.case import TensorSpec
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case, Value

_STEP = 2.0**-20
"""Relative perturbation: far above float64's rounding, far below any scale on which functions bend."""
_RANDOM_DRAWS = 8
"""Draws for operators whose outputs depend on many inputs."""
_FACTORS = frozenset({"alpha", "beta"})
"""Keyword arguments that scale a term of a sum."""


def accumulated(
    operator: Callable[..., Any],
    case: Case,
    semantics: Semantics,
    storages: Sequence[torch.Tensor],
    exact: reference.Outcome,
    leaf: int,
    *,
    interior: float = 1.0,
) -> torch.Tensor:
    """Return m for one output: a float64 tensor of that output's shape, zero where nothing is known.

    Args:
        operator: the callable.
        case: its arguments.
        semantics: its class.
        storages: the input storages in their own dtypes.
        exact: the float64 run on them.
        leaf: index of the output among ``exact.leaves``.
        interior: size of the values that a function of ``semantics.INTERIOR`` is evaluated through.
    """
    expected = exact.leaves[leaf]
    magnitude = torch.zeros(expected.shape, dtype=torch.float64, device=expected.device)
    if semantics.interior:
        magnitude += interior * _gradient(case, semantics, storages, expected)
    magnitude += _terms(case, storages, expected, leaf)
    if semantics.linear:
        absolute = [_absolute(storage, integers=semantics.integers_are_data) for storage in storages]
        return (
            magnitude + _clean(_leaf(operator, _with_absolute_factors(case), absolute, leaf, expected)).abs()
        )
    case, storages = _unshared(case, storages)
    floats = [
        index for index, storage in enumerate(storages) if storage.is_floating_point() or storage.is_complex()
    ]
    wide = [_widened(storage) if index in floats else storage for index, storage in enumerate(storages)]
    if semantics.elementwise:
        for index in floats:
            ones = torch.ones(storages[index].shape, dtype=torch.float64, device=storages[index].device)
            magnitude += _sensitivity(operator, case, wide, {index: ones}, expected, leaf)
        return magnitude
    source = torch.Generator(expected.device).manual_seed(0)
    draws = torch.zeros_like(magnitude)
    for _ in range(_RANDOM_DRAWS):
        shares = {index: random_shares(storages[index].shape, source) for index in floats}
        draws = torch.maximum(draws, _sensitivity(operator, case, wide, shares, expected, leaf))
    return magnitude + draws


def random_shares(shape: Sequence[int], source: torch.Generator) -> torch.Tensor:
    """Return float64 numbers of both signs and of sizes from 1/4 to 5/4, on the generator's device.

    Signs alone would not do: of two equal terms one half of all draws would show nothing, of twelve a fifth.
    """
    drawn = torch.rand(tuple(shape), generator=source, device=source.device, dtype=torch.float64)
    drawn.mul_(2.0).sub_(1.0)
    return drawn.add_(drawn.sign(), alpha=0.25)


def _terms(
    case: Case, storages: Sequence[torch.Tensor], expected: torch.Tensor, leaf: int
) -> torch.Tensor | float:
    """Return the sizes of the terms of one output's formula, zero where it is not known to cancel."""
    name = case.operator
    formula = TERMS.get(name.base) if isinstance(name, OperatorName) else None
    if formula is None or (case.kwargs and case.storages):
        return 0.0
    wide = [_widened(storage) if storage.is_floating_point() else storage for storage in storages]
    args = [reference.build(value, wide, expected.device, wide=True) for value in case.args]
    found = formula(*args)
    if leaf >= len(found) or found[leaf].shape not in {expected.shape, torch.Size()}:
        return 0.0
    return _clean(found[leaf]).to(expected.device)


def _unshared(case: Case, storages: Sequence[torch.Tensor]) -> tuple[Case, Sequence[torch.Tensor]]:
    """Return the same call with expanded arguments in memory of their own, one element each."""
    own = list(storages)

    def spread(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(spread(item) for item in value)
        if not isinstance(value, TensorSpec) or 0 in value.shape or 0 not in value.stride:
            return value
        seen = torch.as_strided(storages[value.storage], value.shape, value.stride, value.offset).contiguous()
        own.append(seen.flatten())
        return TensorSpec(storage=len(own) - 1, shape=value.shape, stride=seen.stride())

    args = tuple(spread(value) for value in case.args)
    return (case if len(own) == len(storages) else replace(case, args=args)), own


def _sensitivity(
    operator: Callable[..., Any],
    case: Case,
    storages: Sequence[torch.Tensor],
    shares: dict[int, torch.Tensor],
    expected: torch.Tensor,
    leaf: int,
) -> torch.Tensor:
    change: torch.Tensor | None = None
    for direction in (_STEP, -_STEP):
        moved = [
            storage * (1 + direction * shares[index]) if index in shares else storage
            for index, storage in enumerate(storages)
        ]
        difference = _clean((_leaf(operator, case, moved, leaf, expected) - expected).abs()) / _STEP
        change = difference if change is None else torch.minimum(change, difference)
    return (
        change.double()
        if change is not None
        else torch.zeros(expected.shape, dtype=torch.float64, device=expected.device)
    )


def _leaf(
    operator: Callable[..., Any],
    case: Case,
    storages: Sequence[torch.Tensor],
    leaf: int,
    expected: torch.Tensor,
) -> torch.Tensor:
    try:
        outcome = reference.run(operator, case, storages, wide=True)
    except reference.ReferenceFailed:
        return expected
    if leaf >= len(outcome.leaves) or outcome.leaves[leaf].shape != expected.shape:
        return expected
    return outcome.leaves[leaf]


def _with_absolute_factors(case: Case) -> Case:
    """Return the case with factors that make no term smaller by taking another away."""
    kwargs = tuple(
        (name, abs(value) if name in _FACTORS and isinstance(value, int | float) else value)
        for name, value in case.kwargs
    )
    return replace(case, kwargs=kwargs)


def _absolute(storage: torch.Tensor, *, integers: bool) -> torch.Tensor:
    if storage.is_complex():
        return storage.abs().to(storage.dtype)
    if integers and storage.dtype.is_signed:
        return storage.abs()
    return storage.abs() if storage.is_floating_point() else storage


def _gradient(
    case: Case, semantics: Semantics, storages: Sequence[torch.Tensor], expected: torch.Tensor
) -> torch.Tensor | float:
    """Return what scales a derivative: its first argument, the gradient; 1 for a function itself."""
    first = case.args[0]
    if not str(semantics.name).partition(".")[0].endswith("_backward") or not isinstance(first, TensorSpec):
        return 1.0
    gradient = _clean(reference.build(first, storages, expected.device, wide=False)).abs()
    return gradient.expand(expected.shape) if expected.dim() >= gradient.dim() else 1.0


def _widened(storage: torch.Tensor) -> torch.Tensor:
    return storage.to(torch.complex128 if storage.is_complex() else torch.float64)


def _clean(values: torch.Tensor) -> torch.Tensor:
    real = values.abs() if values.is_complex() else values
    return torch.nan_to_num(real.double(), nan=0.0, posinf=0.0, neginf=0.0)
