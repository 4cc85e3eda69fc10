"""The baseline generator: a kernel for every operator in the registry, the same bytes every time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kab_baseline import registry
from kagent_bench.hooks.protocols import GenerationResult
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from kagent_bench.hooks.protocols import GenerationRequest


def _module(request: GenerationRequest) -> GenerationResult:
    """Return one kernel for a whole module, or why it takes more than one."""
    from kab_baseline.regions.axes import Unfusable
    from kab_baseline.regions.single import write_single
    from kab_baseline.regions.write import write

    module = request.problem.module
    assert module is not None
    if any(isinstance(value, tuple) for value in request.problem.cases[0].args):
        detail = f"{module.name} takes sequences of tensors"
        return GenerationResult(source=None, reason="unsupported", detail=detail)
    try:
        return GenerationResult(source=write(module.program), details={"route": "region"})
    except Unfusable as error:
        why = str(error)
    try:
        return GenerationResult(source=write_single(module.program), details={"route": "single"})
    except Unfusable:
        detail = f"{module.name} is not one kernel of the baseline generator: {why}"
        return GenerationResult(source=None, reason="unsupported", detail=detail)


class BaselineGenerator:
    """Writes the kernel of one operator; asks neither a language model nor the judge."""

    version = "1"

    def generate(self, request: GenerationRequest) -> GenerationResult:
        """Return the kernel file of the requested operator, or that it is unsupported."""
        operator = request.problem.operator
        if not isinstance(operator, OperatorName):
            return _module(request)
        source = registry.write(operator)
        if source is None:
            return GenerationResult(
                source=None,
                reason="unsupported",
                detail=f"the baseline generator has no formula for {operator}; it knows "
                f"{len(registry.supported())} overloads",
            )
        return GenerationResult(source=source, details={"route": "formula"})
