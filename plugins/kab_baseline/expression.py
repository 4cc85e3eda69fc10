"""From an FX graph of primitives to lines of Triton: names, inlining and precedence."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch.fx

from kab_baseline.primitives import Kind, Primitive

INLINE_LENGTH = 60
"""Longest expression, in characters, that is still put into a larger one."""

_ATOM = 100
_BINARY: Mapping[Callable[..., Any], tuple[str, int]] = {
    operator.add: ("+", 12),
    operator.sub: ("-", 12),
    operator.mul: ("*", 13),
    operator.truediv: ("/", 13),
    operator.and_: ("&", 10),
    operator.xor: ("^", 9),
    operator.or_: ("|", 8),
    operator.lshift: ("<<", 11),
    operator.rshift: (">>", 11),
    operator.lt: ("<", 7),
    operator.le: ("<=", 7),
    operator.gt: (">", 7),
    operator.ge: (">=", 7),
    operator.eq: ("==", 7),
    operator.ne: ("!=", 7),
}
"""Python's operators with their precedence; Triton's are the same."""
_NEGATE_PRECEDENCE = 14


@dataclass(frozen=True, slots=True)
class Expression:
    """Source text with the precedence of its outermost operator."""

    text: str
    precedence: int = _ATOM

    def within(self, precedence: int) -> str:
        """Return the text, in parentheses where it would bind weaker than its surroundings."""
        return self.text if self.precedence > precedence else f"({self.text})"


@dataclass
class Writer:
    """Writes nodes as assignments, and single-use short ones into their user."""

    values: dict[torch.fx.Node, Expression] = field(default_factory=dict)
    """What each node is called in the text written so far."""
    lines: list[str] = field(default_factory=list)
    prefix: str = "t"
    _count: int = 0

    def bind(self, node: torch.fx.Node, text: str) -> None:
        """Say that a node's value is already there, under this name."""
        self.values[node] = Expression(text)

    def write(self, nodes: Iterable[torch.fx.Node]) -> None:
        """Append the pointwise nodes, in order."""
        for node in nodes:
            expression = self._render(node)
            uses = sum(argument is node for user in node.users for argument in _flat(user.args))
            inlines = not isinstance(node.target, Primitive) or node.target.inlines
            if inlines and uses <= 1 and len(expression.text) <= INLINE_LENGTH:
                self.values[node] = expression
            else:
                name = f"{self.prefix}{self._count}"
                self._count += 1
                self.lines.append(f"{name} = {expression.text}")
                self.values[node] = Expression(name)

    def text(self, value: object) -> str:
        """Return the source of a node or constant as a whole expression."""
        return self._operand(value).text

    def atom(self, value: object) -> str:
        """Return the source of a node or constant so that an attribute may follow it."""
        return self._operand(value).within(_ATOM - 1)

    def _operand(self, value: object) -> Expression:
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return Expression('float("inf")' if value > 0 else 'float("-inf")')
        if isinstance(value, float) and value != value:  # noqa: PLR0124 - the test for NaN
            return Expression('float("nan")')
        text = repr(value)
        return Expression(text, _NEGATE_PRECEDENCE if text.startswith("-") else _ATOM)

    def _render(self, node: torch.fx.Node) -> Expression:
        operands = [self._operand(item) for item in node.args]
        target = node.target
        if isinstance(target, Primitive):
            if target.kind is not Kind.POINTWISE:
                message = f"{target.name} is not pointwise"
                raise TypeError(message)
            call = target.spelling.startswith(("tl.", target.name))
            texts = [item.text if call else item.within(_ATOM - 1) for item in operands]
            return Expression(target.spelling.format(*texts))
        if target is operator.neg:
            return Expression(f"-{operands[0].within(_NEGATE_PRECEDENCE - 1)}", _NEGATE_PRECEDENCE)
        sign, precedence = _BINARY[target]  # type: ignore[index]
        left, right = operands
        # Comparisons chain in Python, so both sides need parentheses at equal precedence.
        left_text = left.within(precedence if precedence == 7 else precedence - 1)  # noqa: PLR2004
        return Expression(f"{left_text} {sign} {right.within(precedence)}", precedence)


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    for item in arguments:
        if isinstance(item, tuple | list):
            yield from _flat(item)
        else:
            yield item
