"""What a node costs: floating-point operations and bytes moved, from shapes alone, for shares of coverage.

The counts follow ``torch.utils.flop_counter``: two operations for each multiplication with an addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from kagent_bench.model.case import ITEM_BYTES
from kagent_bench.model.program import GET_ITEM, NodeRef, TensorFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.program import Node, Program

_PRODUCTS = frozenset(["mm", "bmm", "matmul", "addmm", "baddbmm", "linear", "mv", "dot", "addmv"])
_CONVOLUTIONS = frozenset(["conv1d", "conv2d", "conv3d", "convolution"])
_TRANSPOSED = frozenset(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"])
_ADDED = frozenset(["addmm", "baddbmm", "addmv"])
"""Products whose first argument is what they are added to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Operations and bytes of one node, or of several."""

    flops: float
    n_bytes: float


def cost(node: Node, facts: Mapping[str, TensorFacts | None]) -> Cost:
    """Return what a node costs.

    Args:
        node: the node.
        facts: of every value of its program.
    """
    if node.operator == GET_ITEM:
        return Cost(flops=0, n_bytes=0)
    given = [item for name in dict.fromkeys(node.refs()) if (item := facts.get(name)) is not None]
    results = [item for item in node.results if item is not None]
    n_bytes = sum(item.numel * ITEM_BYTES[item.dtype] for item in (*given, *results))
    return Cost(flops=_flops(node, facts, given, results), n_bytes=n_bytes)


def _flops(
    node: Node,
    facts: Mapping[str, TensorFacts | None],
    given: list[TensorFacts],
    results: list[TensorFacts],
) -> float:
    base = node.operator.split(".")[1]
    operands = [facts[item.name] if isinstance(item, NodeRef) else None for item in node.args]
    out = sum(item.numel for item in results)
    if base in _PRODUCTS:
        left = operands[1] if base in _ADDED else operands[0]
        return 2.0 * out * (left.shape[-1] if left is not None and left.shape else 1)
    if base in _CONVOLUTIONS | _TRANSPOSED:
        weight, source = operands[1], operands[0]
        if weight is None or source is None:
            return out
        each = prod(weight.shape[1:])
        return 2.0 * (source.numel if base in _TRANSPOSED else out) * each
    if base == "scaled_dot_product_attention":
        query, key = operands[0], operands[1]
        if query is None or key is None:
            return out
        return 4.0 * query.numel * key.shape[-2]
    return float(max([out, *(item.numel for item in given)]))


def total(program: Program, names: frozenset[str]) -> Cost:
    """Return the cost of some nodes of a program together."""
    facts = program.facts()
    costs = [cost(node, facts) for node in program.nodes if node.name in names]
    return Cost(flops=sum(item.flops for item in costs), n_bytes=sum(item.n_bytes for item in costs))
