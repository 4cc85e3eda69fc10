"""Who did the work in a module: which library calls its declared nodes allow, and which share kernels cover."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.evaluate.modules.cost import total
from kagent_bench.evaluate.oracle import reference
from kagent_bench.evaluate.oracle.work import library_calls
from kagent_bench.suites.recording.dispatch_watch import DispatchWatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from kagent_bench.evaluate.modules.interpret import Call, ProgramRun
    from kagent_bench.evaluate.oracle.semantics import Semantics
    from kagent_bench.model.case import Case
    from kagent_bench.model.program import Node


WITHOUT_SUM = {"aten.mm.default": "aten.addmm.default", "aten.bmm.default": "aten.baddbmm.default"}
"""Products, each with the call that does more: one that may be made may also be made without its sum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleWork:
    """What a module's computation consists of, and what of it a candidate may leave to the library."""

    allowed: Counter[str]
    """Computing library calls of the declared nodes, by name."""
    coverage: dict[str, float]
    """Share of compute ``operators``, ``flops`` and ``bytes`` that is not declared, and so runs in kernels."""

    def undeclared(self, calls: tuple[str, ...], counts: dict[str, int]) -> tuple[str, ...]:
        """Return the computing calls that the declared nodes do not account for.

        Args:
            calls: computing library calls of the candidate.
            counts: how often it made each in one call, as it says itself.
        """
        made = {name: counts.get(name, 1) for name in calls}

        def may(name: str) -> int:
            more = WITHOUT_SUM.get(name, "")
            return self.allowed[name] + max(0, self.allowed[more] - made.get(more, 0))

        return tuple(name for name in calls if made[name] > may(name))


def module_work(
    run: ProgramRun,
    case: Case,
    semantics: Semantics,
    storages: Sequence[torch.Tensor],
    declared: frozenset[str],
) -> ModuleWork:
    """Run the program once and see which library calls each node makes.

    Args:
        run: the program.
        case: its arguments.
        semantics: the module's.
        storages: inputs of one round.
        declared: names of nodes, or of operators, that the candidate leaves to the library.

    Raises:
        ReferenceFailed: the program raises on these inputs.
    """
    seen = _Seen()
    by_node: dict[str, Counter[str]] = {}

    def take(node: Node, args: list[Any], kwargs: dict[str, Any], call: Call) -> Any:
        del args, kwargs
        value = call()
        computing = library_calls(seen.calls, semantics)
        by_node[node.name] = Counter({name: seen.calls[name] for name in computing})
        seen.calls = Counter()
        return value

    with seen:
        reference.run(run.watched(take), case, storages)
    operators = {node.name: node.operator for node in run.program.nodes}
    compute = frozenset(name for name, calls in by_node.items() if calls)
    eager = frozenset(name for name in compute if name in declared or operators[name] in declared)
    allowed: Counter[str] = Counter()
    for name in eager:
        allowed += by_node[name]
    return ModuleWork(allowed=allowed, coverage=_coverage(run, compute, eager))


def _coverage(run: ProgramRun, compute: frozenset[str], eager: frozenset[str]) -> dict[str, float]:
    whole, left = total(run.program, compute), total(run.program, eager)
    return {
        "operators": _share(len(compute), len(eager)),
        "flops": _share(whole.flops, left.flops),
        "bytes": _share(whole.n_bytes, left.n_bytes),
    }


def _share(whole: float, left: float) -> float:
    return 1.0 - left / whole if whole else 1.0


class _Seen(DispatchWatch):
    """Counts ATen calls, as the candidate's own watch does."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[str(func)] += 1
        return func(*args, **(kwargs or {}))
