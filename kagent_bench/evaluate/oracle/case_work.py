"""Who did the work in a case: what its candidate called and launched, and whether that may be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.evaluate.oracle import returned
from kagent_bench.evaluate.oracle.finding import Finding
from kagent_bench.evaluate.oracle.module_work import ModuleWork, module_work
from kagent_bench.evaluate.oracle.rounds import VALUE_FREE_KINDS, OracleSettings, bits
from kagent_bench.evaluate.oracle.work import library_calls, recorded_compute
from kagent_bench.model.verdict import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kagent_bench.evaluate.modules.interpret import ProgramRun
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.evaluate.oracle.tally import Tally
    from kagent_bench.model.case import Case


class CaseWork:
    """What is known of a candidate's work while the rounds of a case run."""

    def __init__(
        self,
        case: Case,
        kind: str,
        semantics: Semantics,
        settings: OracleSettings,
        declared: frozenset[str],
        tally: Tally,
    ) -> None:
        """Take a case, how it is judged, what its kernel declares to leave to the library, and where calls are noted."""
        self._case = case
        self._semantics = semantics
        self._declared = declared
        self._tally = tally
        self._module: ModuleWork | None = None
        self._is_strict = settings.policy == "strict" and kind not in {"view", *VALUE_FREE_KINDS}

    def look_at(self, run: ProgramRun, storages: Sequence[torch.Tensor]) -> None:
        """See which library calls a module's program makes, on the inputs of one round.

        Raises:
            ReferenceFailed: the program raises on these inputs.
        """
        self._module = module_work(run, self._case, self._semantics, storages, self._declared)

    def note(self, reply: dict[str, Any]) -> None:
        """Take in what the candidate says of one call, untrusted."""
        launches, calls = reply.get("launches"), reply.get("calls")
        if isinstance(launches, int):
            self._tally.launches += launches
        if isinstance(calls, list):
            self._tally.calls.update(call for call in calls if isinstance(call, str))

    def check(
        self, reply: dict[str, Any], leaves: Sequence[torch.Tensor], given: Iterable[torch.Tensor]
    ) -> Finding | None:
        """Return what is wrong with who computed, or None.

        Args:
            reply: the candidate's description of one call.
            leaves: what eager returns in this round.
            given: the arguments of this round.
        """
        if not self._is_strict:
            return None
        computed = library_calls(self._tally.calls, self._semantics)
        if self._module is not None:
            computed = self._module.undeclared(computed, returned.counts(reply))
        elif not computed:
            computed = recorded_compute(returned.recorded(reply))
        if computed:
            detail = "let the library compute: " + ", ".join(computed)
            return Finding(status=CaseStatus.REJECTED, reason="library_compute", detail=detail)
        if self._tally.launches or not self._has_work():
            return None
        arguments = tuple(given)
        if not all(_is_given(leaf, arguments) or _comes_of_nothing(leaf, arguments) for leaf in leaves):
            detail = "returned a non-empty result without launching a kernel of its own file"
            return Finding(status=CaseStatus.REJECTED, reason="no_kernel", detail=detail)
        return None

    def is_missing(self) -> bool:
        """Return whether nothing was launched where a result needs a kernel."""
        return self._is_strict and self._has_work() and not self._tally.launches

    def coverage(self) -> dict[str, float]:
        """Return which share of a module's work its kernel does not declare as eager; empty for an operator."""
        return {} if self._module is None else self._module.coverage

    def library_calls(self) -> list[str]:
        """Return the computing library calls that the candidate made in this case."""
        return list(library_calls(self._tally.calls, self._semantics))

    def _has_work(self) -> bool:
        """Return whether there is something to compute from: a sum of no elements is a fill."""
        return not (self._case.storages and not self._case.input_bytes)


def _comes_of_nothing(leaf: torch.Tensor, arguments: Iterable[torch.Tensor]) -> bool:
    """Return whether a result is a fill beside no elements, as the gradient of a weight in a batch of no rows."""
    flat = leaf.flatten()
    return torch.equal(flat, flat[:1].expand_as(flat)) and any(not item.numel() for item in arguments)


def _is_given(leaf: torch.Tensor, arguments: Iterable[torch.Tensor]) -> bool:
    """Return whether a result is empty, or an argument as it was, as where a tensor is flipped along no dimension."""
    return not leaf.numel() or any(
        tensor.dtype is leaf.dtype and torch.equal(bits(tensor), bits(leaf)) for tensor in arguments
    )
