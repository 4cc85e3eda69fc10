"""Making a program shorter without changing what it computes: equal calls once, a view of a view as one view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kab_baseline.regions.hosting import is_contiguous
from kagent_bench.model.program import Node, NodeRef, Program, references

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import TensorFacts

_VIEWS = frozenset(
    f"aten.{name}"
    for name in (
        "view.default",
        "_unsafe_view.default",
        "reshape.default",
        "unsqueeze.default",
        "squeeze.dim",
        "squeeze.dims",
        "squeeze.default",
    )
)
"""Views that keep the order of the elements."""


def simplified(program: Program) -> Program:
    """Return a program without calls that are made twice, views of views and calls whose values nobody uses.

    Args:
        program: one that changes no tensor in place.
    """
    facts = program.facts()
    same: dict[str, str] = {}
    known: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    for original in program.nodes:
        node = _one_view(with_names(original, same), nodes, facts)
        key = repr((node.operator, node.args, node.kwargs))
        if key in known:
            same[node.name] = known[key]
        else:
            known[key] = node.name
            nodes[node.name] = node
    output = value_with_names(program.output, same)
    return _without_dead(replace(program, nodes=tuple(nodes.values()), output=output))


def value_with_names(value: Any, same: Mapping[str, str]) -> Any:
    """Return an argument or output with references under other names; names that are not given stay."""
    if isinstance(value, NodeRef):
        return NodeRef(name=same.get(value.name, value.name))
    return tuple(value_with_names(item, same) for item in value) if isinstance(value, tuple) else value


def with_names(node: Node, same: Mapping[str, str]) -> Node:
    """Return a call with its arguments under other names."""
    kwargs = tuple((name, value_with_names(value, same)) for name, value in node.kwargs)
    return replace(node, args=value_with_names(node.args, same), kwargs=kwargs)


def _one_view(node: Node, nodes: dict[str, Node], facts: dict[str, TensorFacts | None]) -> Node:
    """Return a view of a view as a view of what that one looks at, where both are in row-major order."""
    if node.operator not in _VIEWS or not isinstance(node.args[0], NodeRef):
        return node
    source = nodes.get(node.args[0].name)
    if source is None or source.operator not in _VIEWS:
        return node
    root = source.args[0]
    assert isinstance(root, NodeRef)
    known, made = facts[root.name], node.results[0]
    if known is None or made is None or not (is_contiguous(known) and is_contiguous(made)):
        return node
    return replace(node, operator="aten.view.default", args=(root, made.shape), kwargs=())


def _without_dead(program: Program) -> Program:
    used = set(references(program.output))
    kept = []
    for node in reversed(program.nodes):
        if node.name in used:
            kept.append(node)
            used.update(node.refs())
    return replace(program, nodes=tuple(reversed(kept)))
