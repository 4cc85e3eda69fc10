"""Which calls compute, as the evaluator sees it: all but allocations, views, metadata, copies and fills."""

from __future__ import annotations

from functools import lru_cache

from kagent_bench.model.program import GET_ITEM


@lru_cache(maxsize=4096)
def computes(operator: str) -> bool:
    """Return whether a call of the library computes.

    Args:
        operator: as ``aten.relu.default``.
    """
    if operator == GET_ITEM:
        return False
    from kagent_bench.evaluate.oracle.semantics import module_semantics
    from kagent_bench.evaluate.oracle.work import library_calls
    from kagent_bench.model.case import Case
    from kagent_bench.model.names import ModuleName
    from kagent_bench.model.program import Program

    name = ModuleName("any")
    case = Case(id="", operator=name, args=(), dtype="float32", origin="module")
    program = Program(inputs=(), state=(), constants=(), nodes=(), output=None)
    return bool(library_calls([operator], module_semantics(program, case)))
