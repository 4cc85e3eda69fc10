r"""The accumulated magnitude of a module's output: how far rounding in every step can move it.

Each node's result is perturbed by a random share of its own scale, all at once, and the output's change divided by
the step is the magnitude m of ``oracle.magnitude``: a stochastic form of running error analysis (Higham, Accuracy and
Stability of Numerical Algorithms, section 3.3; Parker, Monte Carlo Arithmetic, 1997). The scale of a node is

- for sums of products (``semantics.LINEAR``): the operator on absolute values;
- for formulas that cancel by nature (``terms``): \|result\| + the sizes of their terms;
- for functions that are evaluated through values of order one (``semantics.INTERIOR``): \|result\| + 1;
- for everything else that computes: \|result\|;
- for views and copies: nothing, unless they round to a shorter dtype.

What is not zero may also be off by what its dtype cannot represent, as hardware may flush it to zero. A call that
PyTorch itself composes of others, as a cell of an LSTM, is perturbed within. A step that rounds to a shorter dtype than
the output's weighs more, by the ratio of what the dtypes are allowed. Arguments are perturbed by their own size as well.

The step is what the output's dtype is allowed, so that a kink within reach of an honest error is seen, and the larger
change of both signs of the step counts, of a few draws. Where a value leaps (``semantics.JUMPS``, or whatever makes
integers or truth values of floats), only what both signs agree on: a leap is no rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.modules.interpret import find_operator
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.compare import UNREPRESENTABLE
from kagent_bench.evaluate.oracle.magnitude import random_shares
from kagent_bench.evaluate.oracle.semantics import COPIES, INTERIOR, JUMPS, LINEAR, schema_of
from kagent_bench.evaluate.oracle.terms import TERMS
from kagent_bench.model.program import GET_ITEM
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kagent_bench.evaluate.modules.interpret import Call, ProgramRun
    from kagent_bench.model.case import Case
    from kagent_bench.model.program import Node

_LEAST_STEP = 2.0**-26
"""Relative perturbation that stands out from float64's own rounding."""
_DRAWS = 6
"""Sign patterns; a module has many steps, so that one draw already mixes many signs."""


Read = Callable[[reference.Outcome], torch.Tensor]
"""Takes an output, or an argument after the call, out of what a run left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """How far values may be rounded on the way to an output."""

    step: float
    """Relative error that the output's dtype is allowed."""
    weight: Callable[[str], float]
    """How many times coarser than the output's a dtype may round, by name; 1 where it is finer."""


def running_error(
    run: ProgramRun,
    case: Case,
    storages: Sequence[torch.Tensor],
    exact: reference.Outcome,
    read: Read,
    rounding: Rounding,
) -> torch.Tensor:
    """Return m for one output or written argument: a float64 tensor of its shape.

    Args:
        run: the program.
        case: its arguments.
        storages: the input storages in their own dtypes.
        exact: the float64 run on them.
        read: takes the tensor out of a run's outcome.
        rounding: what that tensor's dtype is allowed.
    """
    expected = read(exact)
    step = max(rounding.step, _LEAST_STEP)
    magnitude = torch.zeros(expected.shape, dtype=torch.float64, device=expected.device)
    for draw in range(_DRAWS):
        changes = []
        leaps = False
        for signed in (step, -step):
            source = torch.Generator(expected.device).manual_seed(draw)
            perturber = _Perturber(signed, source, rounding.weight)
            moved = _perturbed(run, case, storages, exact, read, perturber)
            changes.append(_finite((moved - expected).abs() / step))
            leaps = leaps or perturber.leaps
        change = (torch.minimum if leaps else torch.maximum)(*changes)
        magnitude = torch.maximum(magnitude, change)
    return magnitude


def _perturbed(
    run: ProgramRun,
    case: Case,
    storages: Sequence[torch.Tensor],
    exact: reference.Outcome,
    read: Read,
    perturber: _Perturber,
) -> torch.Tensor:
    moved = [perturber.move(storage, storage.abs()) if _is_real(storage) else storage for storage in storages]
    try:
        outcome = reference.run(run.watched(perturber), case, moved, wide=True)
    except reference.ReferenceFailed:
        return read(exact)
    same = [leaf.shape for leaf in outcome.leaves] == [leaf.shape for leaf in exact.leaves]
    return read(outcome if same else exact)


class _Perturber:
    """Moves every computed value by a share of its scale."""

    def __init__(self, step: float, source: torch.Generator, weight: Callable[[str], float]) -> None:
        self._step = step
        self._source = source
        self._weight = weight
        self.leaps = False
        """Whether a value on the way is one that leaps."""

    def __call__(self, node: Node, args: list[Any], kwargs: dict[str, Any], call: Call) -> Any:
        if node.operator == GET_ITEM:
            return call()
        dtypes = ["" if facts is None else facts.dtype for facts in node.results]
        operator = find_operator(node.operator)
        if not _is_composite(operator):
            return self.moved(operator, args, kwargs, call(), dtypes)
        coarsest = max(dtypes, key=self._weight, default="")
        with _Within(self, coarsest):
            return call()

    def moved(
        self,
        operator: torch._ops.OpOverload,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        value: Any,
        dtypes: Sequence[str],
    ) -> Any:
        """Return what an operator returned, moved.

        Args:
            operator: the operator.
            args: its arguments.
            kwargs: its keyword arguments.
            value: what it returned.
            dtypes: of what it returns, in the program's own precision; empty where that is no tensor.
        """
        base = _base(operator)
        self.leaps = self.leaps or _leaps(base, args, kwargs, value)
        if _is_view(operator) or (base in COPIES and all(self._weight(dtype) == 1.0 for dtype in dtypes)):
            return value
        if isinstance(value, torch.Tensor):
            if not _is_real(value):
                return value
            scale = 0.0 * value.abs() if base in COPIES else _scale(operator, base, args, kwargs, value)
            return self.move(value, scale + (self._weight(dtypes[0]) - 1.0) * value.abs(), dtypes[0])
        if isinstance(value, list | tuple):
            return type(value)(
                self.move(item, self._weight(dtype) * item.abs(), dtype)
                if isinstance(item, torch.Tensor) and _is_real(item)
                else item
                for item, dtype in zip(value, dtypes, strict=True)
            )
        return value

    def moved_in_place(self, value: torch.Tensor, dtype: str) -> None:
        """Move what an operator wrote over its argument."""
        value.copy_(self.move(value, self._weight(dtype) * value.abs(), dtype))

    def move(self, value: torch.Tensor, scale: torch.Tensor, dtype: str = "") -> torch.Tensor:
        """Return a float64 value moved by the step times a random share of the scale; zeros of no scale, infinities stay.

        Args:
            value: any shape.
            scale: of the same shape.
            dtype: whose smallest numbers may be lost, too; empty for none.
        """
        exact = value.double()
        shares = random_shares(value.shape, self._source).to(value.device)
        size = abs(self._step) * scale.double()
        lost = UNREPRESENTABLE.get(getattr(torch, dtype), 0.0) if dtype else 0.0
        if lost:
            size = size + lost * (exact != 0)
        moved = exact + math.copysign(1.0, self._step) * shares * size
        return torch.where(torch.isfinite(moved), moved, exact)


class _Within(DispatchWatch):
    """Moves what the calls return that a composite call is made of."""

    def __init__(self, perturber: _Perturber, dtype: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._perturber = perturber
        self._dtype = dtype

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        kwargs = kwargs or {}
        value = func(*args, **kwargs)
        dtypes = [self._dtype] * (len(value) if isinstance(value, list | tuple) else 1)
        if not schema_of(func).is_mutable:
            return self._perturber.moved(func, args, kwargs, value, dtypes)
        if isinstance(value, torch.Tensor) and _base(func) not in COPIES and _is_real(value):
            self._perturber.moved_in_place(value, self._dtype)
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


def _leaps(base: str, args: Sequence[Any], kwargs: dict[str, Any], value: Any) -> bool:
    """Return whether a value leaps where an argument passes a point."""
    if base in {"div", "divide"}:
        return kwargs.get("rounding_mode") is not None
    given = [item for item in args if isinstance(item, torch.Tensor)]
    made = [
        item
        for item in (value if isinstance(value, list | tuple) else [value])
        if isinstance(item, torch.Tensor)
    ]
    discrete = any(not _is_real(item) and not item.is_complex() for item in made)
    return base in JUMPS or (discrete and any(map(_is_real, given)))


def _finite(values: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(values.double(), nan=0.0, posinf=0.0, neginf=0.0)


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
