"""The manifest of a composed kernel: which nodes of the module's program it leaves to the library.

A kernel file declares them in a module-level literal, ``EAGER = ("conv2d", "aten.linear.default")``, by the names of
nodes or of operators. It is read from the text, never executed: what is declared is allowed, and counts as not covered.
"""

from __future__ import annotations

import ast

from kagent_bench.model.python_text import parse_python

MANIFEST = "EAGER"
"""Name of the literal."""
MAX_NAMES = 10_000
"""Names that are read; no program has so many nodes."""


def declared_eager(source: bytes) -> tuple[str, ...]:
    """Return the nodes and operators that a kernel file declares as eager; nothing where it has no such literal."""
    try:
        tree = parse_python(source)
    except SyntaxError:
        return ()
    found: tuple[str, ...] = ()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == MANIFEST for target in statement.targets
        ):
            found = _names(statement.value)
    return found[:MAX_NAMES]


def _names(value: ast.expr) -> tuple[str, ...]:
    try:
        items = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return ()
    if isinstance(items, str):
        return (items,)
    if not isinstance(items, list | tuple | set | frozenset | dict):
        return ()
    return tuple(sorted(item for item in items if isinstance(item, str)))
