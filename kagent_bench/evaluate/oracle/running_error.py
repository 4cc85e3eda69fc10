r"""The accumulated magnitude of a module's output: how far rounding in every step can move it.

Each node's result is perturbed by a random sign times its own scale, all at once, and the output's change divided by
the step is the magnitude m of ``oracle.magnitude``: a stochastic form of running error analysis (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.3; Parker, Monte Carlo Arithmetic, 1997). The scale of a node is

- for sums of products (``semantics.LINEAR``): the operator on absolute values;
- for formulas that cancel by nature (``terms``): \|result\| + the sizes of their terms;
- for functions that are evaluated through values of order one (``semantics.INTERIOR``): \|result\| + 1;
- for everything else that computes: \|result\|;
- for views and copies: nothing, unless they round to a shorter dtype.

A step that rounds to a shorter dtype than the output's weighs more, by the ratio of what the dtypes are allowed.
Arguments are perturbed by their own size as well. The larger of a few draws counts, and of each draw what both signs
of the step agree on, so that a kink is no rounding error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.semantics import COPIES, INTERIOR, LINEAR, schema_of
from kagent_bench.evaluate.oracle.terms import TERMS
from kagent_bench.model.program import GET_ITEM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.evaluate.modules.interpret import ProgramRun
    from kagent_bench.model.case import Case
    from kagent_bench.model.program import Node

_STEP = 2.0**-26
"""Relative perturbation: above float64's rounding by enough digits to see, small after many layers of growth."""
_DRAWS = 6
"""Sign patterns; a module has many steps, so that one draw already mixes many signs."""


Read = Callable[[reference.Outcome], torch.Tensor]
"""Takes an output, or an argument after the call, out of what a run left."""


Weight = Callable[[str], float]
"""How many times coarser than the output's a dtype may round, by name; 1 where it is finer."""


def running_error(
    run: ProgramRun,
    case: Case,
    storages: Sequence[torch.Tensor],
    exact: reference.Outcome,
    read: Read,
    weight: Weight,
) -> torch.Tensor:
    """Return m for one output or written argument: a float64 tensor of its shape.

    Args:
        run: the program.
        case: its arguments.
        storages: the input storages in their own dtypes.
        exact: the float64 run on them.
        read: takes the tensor out of a run's outcome.
        weight: of a dtype.
    """
    expected = read(exact)
    magnitude = torch.zeros(expected.shape, dtype=torch.float64, device=expected.device)
    for draw in range(_DRAWS):
        change: torch.Tensor | None = None
        for step in (_STEP, -_STEP):
            difference = (
                _perturbed(run, case, storages, exact, read, weight, draw, step) - expected
            ).abs() / _STEP
            difference = torch.nan_to_num(difference.double(), nan=0.0, posinf=0.0, neginf=0.0)
            change = difference if change is None else torch.minimum(change, difference)
        assert change is not None
        magnitude = torch.maximum(magnitude, change)
    return magnitude


def _perturbed(
    run: ProgramRun,
    case: Case,
    storages: Sequence[torch.Tensor],
    exact: reference.Outcome,
    read: Read,
    weight: Weight,
    draw: int,
    step: float,
) -> torch.Tensor:
    source = torch.Generator(read(exact).device).manual_seed(draw)
    moved = [
        _moved(storage, storage.abs(), step, source) if _is_real(storage) else storage for storage in storages
    ]
    perturber = _Perturber(step, source, weight)
    try:
        outcome = reference.run(run.watched(perturber), case, moved, wide=True)
    except reference.ReferenceFailed:
        return read(exact)
    same = [leaf.shape for leaf in outcome.leaves] == [leaf.shape for leaf in exact.leaves]
    return read(outcome if same else exact)


class _Perturber:
    """Moves every computed value by its scale."""

    def __init__(self, step: float, source: torch.Generator, weight: Weight) -> None:
        self._step = step
        self._source = source
        self._weight = weight

    def __call__(self, node: Node, args: list[Any], kwargs: dict[str, Any], value: Any) -> Any:
        if node.operator == GET_ITEM:
            return value
        base = node.operator.split(".")[1]
        weights = [1.0 if facts is None else self._weight(facts.dtype) for facts in node.results]
        if _is_view(node.operator) or (base in COPIES and weights == [1.0]):
            return value
        if isinstance(value, torch.Tensor):
            if not _is_real(value):
                return value
            scale = self._scale(node, base, args, kwargs, value) if base not in COPIES else 0.0 * value.abs()
            return self._move(value, scale + (weights[0] - 1.0) * value.abs())
        if isinstance(value, list | tuple):
            return [
                self._move(item, share * item.abs())
                if isinstance(item, torch.Tensor) and _is_real(item)
                else item
                for item, share in zip(value, weights, strict=True)
            ]
        return value

    def _move(self, value: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return _moved(value, scale, self._step, self._source) if _is_real(value) else value

    @staticmethod
    def _scale(
        node: Node, base: str, args: list[Any], kwargs: dict[str, Any], value: torch.Tensor
    ) -> torch.Tensor:
        if base in TERMS and not kwargs:
            (terms,) = TERMS[base](*args)
            return value.abs() + terms
        if base in LINEAR:
            absolute = find_operator(node.operator)(*map(_absolute, args), **kwargs)
            if isinstance(absolute, torch.Tensor) and absolute.shape == value.shape:
                return absolute.abs()
        return value.abs() + 1.0 if base in INTERIOR else value.abs()


def _moved(value: torch.Tensor, scale: torch.Tensor, step: float, source: torch.Generator) -> torch.Tensor:
    """Return a float64 value moved by step times a random sign times the scale; infinities stay."""
    drawn = torch.randint(0, 2, tuple(value.shape), generator=source, device=source.device, dtype=torch.int8)
    signs = drawn.to(value.device, torch.float64).mul_(2.0).sub_(1.0)
    moved = value.double() + step * signs * scale.double()
    return torch.where(torch.isfinite(moved), moved, value.double())


def _absolute(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.abs()
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        return [_absolute(item) for item in value]
    return value


def _is_real(value: torch.Tensor) -> bool:
    return value.is_floating_point()


def _is_view(name: str) -> bool:
    return any(item.alias_info is not None for item in schema_of(find_operator(name)).returns)
