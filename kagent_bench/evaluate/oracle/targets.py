"""What a round must leave behind: for each output, and each argument that is written, the values that are right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import torch

from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.compare import Expected
from kagent_bench.evaluate.oracle.magnitude import accumulated
from kagent_bench.evaluate.oracle.running_error import Rounding, running_error

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kagent_bench.evaluate.oracle.rounds import OracleSettings, Round
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case, TensorSpec


NARROWER = {"float64": "float32", "complex128": "complex64"}
"""Dtypes of results that need be no more exact than the given one where the case's own dtype is narrower."""


HALVES = frozenset([torch.float16, torch.bfloat16])
INTERIOR_ERROR = 2.0**-14
"""Absolute error of a transcendental function evaluated for half precision: approximations that are meant for it
(erf in Abramowitz and Stegun 7.1.25 is good to 2.5e-5) fit, GELU by its other form (off by 4.7e-4) does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One tensor that must have the right values."""

    where: str
    """What it is called in a message."""
    expected: Expected
    tolerance: float | None
    """The relative factor that is used; None for integers and booleans."""


class Targets:
    """Works out the targets of a case's rounds, on the device under test."""

    def __init__(
        self, case: Case, operator: Callable[..., Any], semantics: Semantics, settings: OracleSettings
    ) -> None:
        """Take a case, its operator with what is known of it, and the run's settings."""
        self._case = case
        self._operator = operator
        self._semantics = semantics
        self._settings = settings

    def output(self, current: Round, index: int, where: str) -> Target:
        """Return the target of one output."""
        exact = None if current.exact is None else current.exact.leaves[index]
        magnitude = None
        if current.exact is not None:
            magnitude = partial(self._magnitude, current, current.exact, index)
        return self._target(where, current.eager.leaves[index], exact, magnitude)

    def argument(self, current: Round, name: str, spec: TensorSpec) -> Target:
        """Return the target of an argument that the call writes."""
        device = torch.device(self._settings.device)

        def read(outcome: reference.Outcome) -> torch.Tensor:
            value = reference.build(spec, outcome.storages, device, wide=False)
            assert isinstance(value, torch.Tensor)
            return value

        exact = None if current.exact is None else read(current.exact)
        magnitude = None
        if current.exact is not None:
            if isinstance(self._operator, ProgramRun):
                magnitude = partial(self._running_error, self._operator, current, current.exact, read)
            else:
                index = self._returned(current, spec)
                if index is not None:
                    magnitude = partial(self._magnitude, current, current.exact, index)
        return self._target(f"argument '{name}' after the call", read(current.eager), exact, magnitude)

    @staticmethod
    def _returned(current: Round, spec: TensorSpec) -> int | None:
        """Return which output is a written argument, None if none is."""
        return next(
            (
                place
                for place, leaf in enumerate(current.eager.leaves)
                if current.eager.alias_of(leaf) == spec.storage and tuple(leaf.shape) == spec.shape
            ),
            None,
        )

    def _magnitude(self, current: Round, exact: reference.Outcome, index: int) -> torch.Tensor:
        if isinstance(self._operator, ProgramRun):
            return self._running_error(self._operator, current, exact, lambda outcome: outcome.leaves[index])
        interior = self._interior(current.eager.leaves[index].dtype)
        return accumulated(
            self._operator, self._case, self._semantics, current.on_device, exact, index, interior=interior
        )

    def _running_error(
        self,
        run: ProgramRun,
        current: Round,
        exact: reference.Outcome,
        read: Callable[[reference.Outcome], torch.Tensor],
    ) -> torch.Tensor:
        rounding = self._rounding(read(current.eager).dtype)
        return running_error(run, self._case, current.on_device, exact, read, rounding)

    def _rounding(self, dtype: torch.dtype) -> Rounding:
        """Return how far values may be rounded on the way to an output of a dtype.

        A value in a shorter dtype may be off by as much as an output in it, all the more as the interpreter truncates.
        """
        limits = self._settings.limits
        own = limits[self._name(dtype)].accumulated

        def weight(name: str) -> float:
            other = limits.get(name)
            return 1.0 if other is None or other.accumulated <= own else other.relative / own

        return Rounding(step=own, weight=weight)

    def _name(self, dtype: torch.dtype) -> str:
        """Return the dtype whose limits hold for results of a dtype."""
        name = str(dtype).removeprefix("torch.")
        return name if self._case.dtype in NARROWER else NARROWER.get(name, name)

    def _interior(self, dtype: torch.dtype) -> float:
        """Return how large the values are that rounding hits inside a function."""
        if dtype not in HALVES or self._semantics.narrow_interior:
            return 1.0
        name = str(dtype).removeprefix("torch.")
        return min(1.0, INTERIOR_ERROR / self._settings.limits[name].accumulated)

    def _target(
        self,
        where: str,
        eager: torch.Tensor,
        exact: torch.Tensor | None,
        magnitude: Callable[[], torch.Tensor] | None,
    ) -> Target:
        name = self._name(eager.dtype)
        limits = self._settings.limits.get(name)
        if limits is None and (eager.is_floating_point() or eager.is_complex()):
            message = f"no tolerance is known for {name}"
            raise KeyError(message)
        expected = Expected(eager, exact, limits=limits, magnitude=magnitude)
        return Target(where=where, expected=expected, tolerance=limits.relative if limits else None)
