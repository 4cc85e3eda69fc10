"""Preparing a round: fresh inputs, and what the operator itself makes of them, eagerly and in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.oracle import inputs, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.evaluate.tolerance import Limits
    from kagent_bench.model.case import Case

REPEAT = "repeat"
"""The last round: the first one's inputs again, to see whether the kernel is deterministic and keeps no state."""
VALUE_FREE_KINDS = {"random": "metadata_only", "metadata": "metadata_only"}
"""Kinds of operator whose values cannot be judged, and the reason that is then recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleSettings:
    """What the oracle needs to know of the run."""

    seed: bytes
    """The run's secret."""
    device: str
    """torch's device string."""
    limits: Mapping[str, Limits]
    rounds: int
    policy: str
    """``strict`` or ``report``."""
    interpreter: bool
    """Whether kernels run in Triton's interpreter."""
    memory_bytes: int
    """Largest sum of input bytes that is tried."""
    baselines: tuple[str, ...] = ()
    """Sides that are timed besides eager."""
    interpreter_elements: int = 0
    """Largest number of elements that the interpreter is tried on; 0 for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: its inputs, and what the operator itself makes of them."""

    name: str
    on_device: tuple[torch.Tensor, ...]
    eager: reference.Outcome
    exact: reference.Outcome | None

    @property
    def storages(self) -> tuple[torch.Tensor, ...]:
        """The inputs on the CPU, copied there at each use: gigabytes take seconds."""
        return tuple(storage.cpu() for storage in self.on_device)


class RoundMaker:
    """Makes the rounds of one case."""

    def __init__(
        self,
        case: Case,
        kind: str,
        operator: Callable[..., Any],
        semantics: Semantics,
        settings: OracleSettings,
    ) -> None:
        """Take a case, the kind of its operator (see ``model.selection``), the callable and the run's settings."""
        self._case = case
        self._operator = operator
        self._semantics = semantics
        self._settings = settings
        self._has_values = kind not in VALUE_FREE_KINDS

    def names(self) -> tuple[str, ...]:
        """Return the distributions to try, the recorded range first."""
        return inputs.rounds_of(self._case, self._semantics, self._settings.rounds)

    def make(self, name: str) -> Round:
        """Draw the inputs of a round and run the operator on them.

        Raises:
            ReferenceFailed: eager PyTorch raises on these inputs.
            MemoryError: they do not fit.
        """
        drawn_as = inputs.ROUNDS[0] if name == REPEAT else name
        number, device = inputs.ROUNDS.index(drawn_as), self._settings.device
        source = inputs.generator(self._settings.seed, self._case.id, number, device)
        drawn = inputs.draw(self._case, self._semantics, drawn_as, source)
        on_device = tuple(storage.to(device) for storage in drawn)
        eager = reference.run(self._operator, self._case, on_device)
        # A device's own integer arithmetic may be wrong (CUDA's 64-bit remainder); the CPU's is the reference.
        discrete = not any(_is_continuous(item) for item in (*on_device, *eager.leaves))
        given = tuple(storage.cpu() for storage in on_device) if discrete else on_device
        exact = self._exact(given, eager)
        if discrete and exact is not None:
            exact = exact.on(device)
        return Round(name=name, on_device=on_device, eager=eager, exact=exact)

    def _exact(self, storages: Sequence[torch.Tensor], eager: reference.Outcome) -> reference.Outcome | None:
        if self._semantics.eager_is_exact or not self._has_values:
            return None
        try:
            exact = reference.run(self._operator, self._case, storages, wide=True)
        except reference.ReferenceFailed:
            return None
        same = [leaf.shape for leaf in exact.leaves] == [leaf.shape for leaf in eager.leaves]
        return exact if same else None

    def stable(self, current: Round) -> bool:
        """Return whether eager PyTorch gives the same bits for the same inputs again."""
        if not self._has_values:
            return True
        again = reference.run(self._operator, self._case, current.on_device)
        return len(again.leaves) == len(current.eager.leaves) and all(
            left.shape == right.shape and torch.equal(bits(left), bits(right))
            for left, right in zip(again.leaves, current.eager.leaves, strict=True)
        )


def _is_continuous(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor's elements as a flat tensor of bytes."""
    flat = tensor.detach().contiguous().flatten()
    return flat.view(torch.uint8) if flat.numel() else torch.empty(0, dtype=torch.uint8)
