"""Layout of generated source text: calls and signatures wrapped as black would wrap them."""

from __future__ import annotations

from collections.abc import Sequence

LINE_LENGTH = 110
"""Columns of a generated line."""


def wrap(head: str, items: Sequence[str], tail: str, *, indent: int = 0) -> str:
    """Return ``head(items)tail`` on one line if it fits, else one item to a line.

    Args:
        head: Text before the parenthesis.
        items: Comma-separated items.
        tail: Text after the closing parenthesis.
        indent: Columns that the whole is moved to the right.
    """
    blank = " " * indent
    line = f"{blank}{head}({', '.join(items)}){tail}"
    if len(line) <= LINE_LENGTH:
        return line
    body = f"{blank}    {', '.join(items)}"
    if len(body) <= LINE_LENGTH and items and not items[-1].startswith("*"):
        return f"{blank}{head}(\n{body}\n{blank}){tail}"
    lines = "".join(f"{blank}    {item},\n" for item in items)
    return f"{blank}{head}(\n{lines}{blank}){tail}"


def indented(text: str, columns: int) -> str:
    """Return the text with every line that is not empty moved to the right."""
    blank = " " * columns
    return "\n".join(blank + line if line else line for line in text.split("\n"))
