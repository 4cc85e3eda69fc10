r"""The accumulated magnitude of a module's output: how far rounding in every step can move it.

Each node's result is perturbed by a random share of its own scale, all at once, and the output's change divided by
the step is the magnitude m of ``oracle.magnitude``: a stochastic form of running error analysis (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.3; Parker, Monte Carlo Arithmetic, 1997). The scale of a node is

- for sums of products (``semantics.LINEAR``): the operator on absolute values;
- for formulas that cancel by nature (``terms``): \|result\| + the sizes of their terms;
- for functions that are evaluated through values of order one (``semantics.INTERIOR``): \|result\| + 1;
- for everything else that computes: \|result\|;
- for views and copies: nothing, unless they round to a shorter dtype.

A call that PyTorch itself composes of others, as a cell of an LSTM, is perturbed within. A step that rounds to a shorter dtype than the output's weighs more, by the ratio of what the dtypes are allowed.
Arguments are perturbed by their own size as well. The larger of a few draws counts, and of each draw what both signs
of the step agree on, so that a kink is no rounding error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.magnitude import random_shares
from kagent_bench.evaluate.oracle.semantics import COPIES, INTERIOR, LINEAR, schema_of
from kagent_bench.evaluate.oracle.terms import TERMS
from kagent_bench.model.program import GET_ITEM
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.evaluate.modules.interpret import Call, ProgramRun
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
    """Moves every computed value by a share of its scale."""

    def __init__(self, step: float, source: torch.Generator, weight: Weight) -> None:
        self._step = step
        self._source = source
        self._weight = weight

    def __call__(self, node: Node, args: list[Any], kwargs: dict[str, Any], call: Call) -> Any:
        if node.operator == GET_ITEM:
            return call()
        weights = [1.0 if facts is None else self._weight(facts.dtype) for facts in node.results]
        operator = find_operator(node.operator)
        if not _is_composite(operator):
            return self.moved(operator, args, kwargs, call(), weights)
        with _Within(self, max(weights, default=1.0)):
            return call()

    def moved(
        self,
        operator: torch._ops.OpOverload,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        value: Any,
        weights: Sequence[float],
    ) -> Any:
        """Return what an operator returned, moved."""
        base = _base(operator)
        if _is_view(operator) or (base in COPIES and all(weight == 1.0 for weight in weights)):
            return value
        if isinstance(value, torch.Tensor):
            if not _is_real(value):
                return value
            scale = _scale(operator, base, args, kwargs, value) if base not in COPIES else 0.0 * value.abs()
            return self.move(value, scale + (weights[0] - 1.0) * value.abs())
        if isinstance(value, list | tuple):
            return type(value)(
                self.move(item, share * item.abs())
                if isinstance(item, torch.Tensor) and _is_real(item)
                else item
                for item, share in zip(value, weights, strict=True)
            )
        return value

    def move(self, value: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return _moved(value, scale, self._step, self._source)


class _Within(DispatchWatch):
    """Moves what the calls return that a composite call is made of."""

    def __init__(self, perturber: _Perturber, weight: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._perturber = perturber
        self._weight = weight

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        value = func(*args, **kwargs)
        weights = [self._weight] * (len(value) if isinstance(value, list | tuple) else 1)
        if not schema_of(func).is_mutable:
            return self._perturber.moved(func, args, kwargs, value, weights)
        if isinstance(value, torch.Tensor) and _base(func) not in COPIES and _is_real(value):
            value.copy_(self._perturber.move(value, self._weight * value.abs()))
        return value


def _scale(
    operator: torch._ops.OpOverload,
    base: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    value: torch.Tensor,
) -> torch.Tensor:
    if base in TERMS and not kwargs:
        (terms,) = TERMS[base](*args)
        return value.abs() + terms
    if base in LINEAR:
        absolute = operator(*map(_absolute, args), **kwargs)
        if isinstance(absolute, torch.Tensor) and absolute.shape == value.shape:
            return absolute.abs()
    return value.abs() + 1.0 if base in INTERIOR else value.abs()


def _moved(value: torch.Tensor, scale: torch.Tensor, step: float, source: torch.Generator) -> torch.Tensor:
    """Return a float64 value moved by step times a random share of the scale; infinities stay."""
    shares = random_shares(value.shape, source).to(value.device)
    moved = value.double() + step * shares * scale.double()
    return torch.where(torch.isfinite(moved), moved, value.double())


def _absolute(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.abs()
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        return [_absolute(item) for item in value]
    return value


def _is_real(value: torch.Tensor) -> bool:
    return value.is_floating_point()


def _base(operator: torch._ops.OpOverload) -> str:
    return schema_of(operator).name.partition("::")[2].removesuffix("_")


def _is_view(operator: torch._ops.OpOverload) -> bool:
    return any(item.alias_info is not None for item in schema_of(operator).returns)


def _is_composite(operator: torch._ops.OpOverload) -> bool:
    """Return whether PyTorch computes it by other calls, and nothing here knows its terms."""
    if _is_view(operator) or _base(operator) in COPIES | LINEAR | INTERIOR | TERMS.keys():
        return False
    name: str = operator.name()  # type: ignore[no-untyped-call]
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")  # noqa: SLF001
