"""The schedule of an FX graph over rows: which nodes are per element, and in which pass each can be computed.

A reduction needs a whole pass over the row before its value can be used, so an element that depends on a
reduction belongs to a later pass: softmax is maximum, then sum of exponentials, then quotient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kab_baseline.primitives import Kind, Primitive

if TYPE_CHECKING:
    import torch.fx


@dataclass(frozen=True, slots=True)
class Schedule:
    """Where each node of a graph is computed."""

    per_element: frozenset[torch.fx.Node]
    """Nodes with one value for each element; the others have one for each row."""
    first_pass: dict[torch.fx.Node, int]
    """First pass in which a node can be computed."""
    n_passes: int
    """Passes that end in a reduction."""

    def reductions(self, number: int) -> list[torch.fx.Node]:
        """Return the reductions that end a pass."""
        return [node for node, first in self.first_pass.items() if first == number and is_reduction(node)]


def is_reduction(node: torch.fx.Node) -> bool:
    """Whether a node reduces a row."""
    return isinstance(node.target, Primitive) and node.target.kind is Kind.REDUCTION


def schedule(graph: torch.fx.Graph, elements: frozenset[str]) -> Schedule:
    """Return the schedule of a graph.

    Args:
        graph: Traced definition.
        elements: Names of the placeholders that hold one value for each element.
    """
    per_element: set[torch.fx.Node] = set()
    first_pass: dict[torch.fx.Node, int] = {}
    for node in graph.nodes:
        if node.op == "output":
            continue
        if node.op == "placeholder":
            first_pass[node] = 0
            if node.target in elements:
                per_element.add(node)
            continue
        inputs = node.all_input_nodes
        first_pass[node] = max((first_pass[item] + is_reduction(item) for item in inputs), default=0)
        if not is_reduction(node) and any(item in per_element for item in inputs):
            per_element.add(node)
    n_passes = max((first_pass[node] + 1 for node in first_pass if is_reduction(node)), default=0)
    return Schedule(frozenset(per_element), first_pass, n_passes)


def needed(targets: list[torch.fx.Node], plan: Schedule) -> set[torch.fx.Node]:
    """Return the per-element nodes, with those that they need in turn, for computing some nodes."""
    found: set[torch.fx.Node] = set()
    pending = list(targets)
    while pending:
        node = pending.pop()
        for item in (*node.all_input_nodes, node):
            if item in plan.per_element and item not in found:
                found.add(item)
                pending.append(item)
    return found
