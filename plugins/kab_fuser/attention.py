"""Attention in a program: where it is, as one region, and how PyTorch's own call of it is written out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from kab_baseline.regions.attention import PRODUCTS, SOFTMAX, moves_only, scores_of, source_of, zeroing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kagent_bench.model.program import Node, Program

CALL = "aten.scaled_dot_product_attention.default"


def written_out(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,  # noqa: FBT001, FBT002 - as in PyTorch's schema
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Return what ``scaled_dot_product_attention`` does, as plain calls: products, a mask and a softmax.

    PyTorch's own decomposition scales both factors and masks by a sum, each a pass over memory. Rows whose scores are
    all masked give zeros, as there.

    Raises:
        ValueError: it drops elements at random.
    """
    if dropout_p:
        message = "attention with dropout"
        raise ValueError(message)
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        key, value = (_repeated(item, query.shape[-3]) for item in (key, value))
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device)
        scores = scores.masked_fill(ones.triu(1), -math.inf)
    elif attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = torch.softmax(scores, -1)
    if is_causal or attn_mask is not None:
        weights = weights.masked_fill(scores.amax(-1, keepdim=True) == -math.inf, 0)
    return weights @ value


def _repeated(heads: torch.Tensor, n_heads: int) -> torch.Tensor:
    """Return each head as often as there are queries' heads for it."""
    times = n_heads // heads.shape[-3]
    return heads.unsqueeze(-3).expand(*heads.shape[:-2], times, *heads.shape[-2:]).flatten(-4, -3)


def attention_calls(program: Program, users: Mapping[str, list[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the calls of each attention, in order: products, softmax, what lies between, views and copies around.

    Args:
        program: in finer calls.
        users: of its values; the empty name for its result.
    """
    nodes = {node.name: node for node in program.nodes}
    for node in program.nodes:
        if node.operator == SOFTMAX:
            search = _Search(program, nodes, users, node)
            for first in search.first_products():
                found = search.calls(first)
                if found:
                    yield found
                    break


class _Search:
    def __init__(
        self, program: Program, nodes: Mapping[str, Node], users: Mapping[str, list[str]], softmax: Node
    ) -> None:
        self._program = program
        self._nodes = nodes
        self._users = users
        self._softmax = softmax

    def first_products(self) -> list[str]:
        """Return the products that the softmax's argument is made of, the latest first."""
        found, waiting = set(), [source_of(self._softmax)]
        while waiting:
            node = self._nodes.get(waiting.pop())
            if node is None:
                continue
            if node.operator in PRODUCTS:
                found.add(node.name)
            elif node.operator != SOFTMAX:
                waiting += node.refs()
        return [node.name for node in reversed(self._program.nodes) if node.name in found]

    def calls(self, first: str) -> tuple[str, ...]:
        """Return the calls of the attention whose scores a product makes; none if there is no second product."""
        zeroed = zeroing(self._program, self._softmax)
        names = {self._softmax.name, *(node.name for node in zeroed)}
        last = zeroed[-1].name if zeroed else self._softmax.name
        while True:
            takers = self._users[last]
            if len(takers) != 1 or not takers[0]:
                return ()
            (taker,) = takers
            node = self._nodes[taker]
            names.add(taker)
            if node.operator in PRODUCTS:
                if source_of(node) != last:
                    return ()
                break
            if not moves_only(node):
                return ()
            last = taker
        names |= {node.name for node in scores_of(self._program, first, self._softmax)}
        self._add_before(names)
        self._add_after(names, taker)
        return tuple(node.name for node in self._program.nodes if node.name in names)

    def _add_before(self, names: set[str]) -> None:
        """Add views and copies of the products' operands that nothing else looks at."""
        for node in reversed(self._program.nodes):
            takers = set(self._users[node.name])
            if moves_only(node) and takers and takers <= names and self._is_operand(node.name, names):
                names.add(node.name)

    def _is_operand(self, name: str, names: set[str]) -> bool:
        """Return whether a value is only used as an operand of a product, perhaps through views."""
        return all(
            self._nodes[taker].operator in PRODUCTS or moves_only(self._nodes[taker])
            for taker in self._users[name]
            if taker in names
        )

    def _add_after(self, names: set[str], last: str) -> None:
        """Add views of the result up to the last copy: the kernel can write it as that lies in memory."""
        waiting: list[str] = []
        while len(self._users[last]) == 1 and self._users[last][0]:
            node = self._nodes[self._users[last][0]]
            if not moves_only(node):
                return
            last = node.name
            waiting.append(last)
            if node.operator == "aten.clone.default":
                names.update(waiting)
                waiting = []
