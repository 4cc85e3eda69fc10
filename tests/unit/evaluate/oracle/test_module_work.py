"""Which library calls the declared nodes of a module allow."""

from __future__ import annotations

from collections import Counter

from kagent_bench.evaluate.oracle.module_work import ModuleWork

MM, ADDMM, TANH = "aten.mm.default", "aten.addmm.default", "aten.tanh.default"


def _undeclared(allowed: dict[str, int], made: dict[str, int]) -> tuple[str, ...]:
    return ModuleWork(allowed=Counter(allowed), coverage={}).undeclared(tuple(made), made)


def test_more_calls_than_the_declared_nodes_make_are_undeclared() -> None:
    """A declared call covers as many library calls as it makes itself, of that name."""
    assert () == _undeclared({ADDMM: 2}, {ADDMM: 2})
    assert (ADDMM,) == _undeclared({ADDMM: 2}, {ADDMM: 3})
    assert (TANH,) == _undeclared({ADDMM: 2}, {ADDMM: 1, TANH: 1})


def test_a_product_may_be_made_without_its_sum() -> None:
    """Who may call a product with a sum may leave the sum to a kernel, but not call both."""
    assert () == _undeclared({ADDMM: 2}, {MM: 2})
    assert () == _undeclared({ADDMM: 1, MM: 1}, {MM: 2})
    assert (MM,) == _undeclared({ADDMM: 2}, {ADDMM: 1, MM: 2})
    assert (ADDMM,) == _undeclared({MM: 2}, {ADDMM: 1})
