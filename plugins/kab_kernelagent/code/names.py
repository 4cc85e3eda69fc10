"""Puts a kernel's names right: the exported function, and imports that were forgotten."""

from __future__ import annotations

import ast
import io
import tokenize

from kagent_bench.model.python_text import parse_python

UPSTREAM_NAME = "kernel_function"
"""What the public KernelAgent calls the function; accepted like ours."""
_IMPORTS = {
    "torch": "import torch",
    "triton": "import triton",
    "tl": "import triton.language as tl",
    "math": "import math",
    "libdevice": "from triton.language.extra import libdevice",
    "functools": "import functools",
    "Optional": "from typing import Optional",
    "Union": "from typing import Union",
    "Sequence": "from collections.abc import Sequence",
    "Tensor": "from torch import Tensor",
}
"""What is added where a name is used and never bound."""


def export_as(source: str, wanted: str) -> str:
    """Return the source with its main function renamed, wherever it is used.

    The main function is ``wanted`` if it is there; else ``kernel_function``; else, of the top-level functions that
    are neither under a decorator nor called by another, the only one, or the only one that launches a kernel.

    Args:
        source: Valid Python.
        wanted: The name that the file must export.
    """
    tree = parse_python(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if wanted in functions or _assigns(tree, wanted):
        return source
    upstream = functions.get(UPSTREAM_NAME)
    main = UPSTREAM_NAME if upstream is not None and not upstream.decorator_list else _only_root(functions)
    return source if main is None else _renamed(source, main, wanted)


def exports(source: str, wanted: str) -> bool:
    """Return whether the source, valid Python, binds the name at its top level."""
    tree = parse_python(source)
    return _assigns(tree, wanted) or any(
        isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == wanted for node in tree.body
    )


def with_imports(source: str) -> str:
    """Return the source with the usual imports that it uses and lacks."""
    tree = parse_python(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = [line for name, line in _IMPORTS.items() if name in used and name not in _bound(tree)]
    if not lines:
        return source
    rows = source.split("\n")
    after = _end_of_head(tree)
    return "\n".join([*rows[:after], *lines, *rows[after:]])


def _assigns(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(target, ast.Name) and target.id == name
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
    )


def _only_root(functions: dict[str, ast.FunctionDef]) -> str | None:
    code = {name: item for name, item in functions.items() if not name.startswith(("test", "main"))}
    called = {
        node.id
        for name, function in code.items()
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id != name
    }
    roots = [
        name
        for name, function in code.items()
        if not function.decorator_list and name not in called and not name.startswith("_")
    ]
    launching = [name for name in roots if any(map(_launches, ast.walk(code[name])))]
    chosen = launching if len(roots) > 1 else roots
    return chosen[0] if len(chosen) == 1 else None


def _launches(node: ast.AST) -> bool:
    """Return whether an expression is of the form ``kernel[grid](...)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)


def _renamed(source: str, old: str, new: str) -> str:
    """Rename by tokens, so that the text stays as it was; attributes and strings of the same spelling stay."""
    rows = source.split("\n")
    former = ""
    places = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME and token.string == old and former != ".":
            places.append(token.start)
        former = token.string
    for row, column in reversed(places):
        line = rows[row - 1]
        rows[row - 1] = line[:column] + new + line[column + len(old) :]
    return "\n".join(rows)


def _bound(tree: ast.Module) -> set[str]:
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
    return bound


def _end_of_head(tree: ast.Module) -> int:
    """Return the number of lines before the first statement that is neither docstring nor ``__future__`` import."""
    after = 0
    for place, node in enumerate(tree.body):
        docstring = place == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not (docstring or future):
            break
        after = node.end_lineno or after
    return after
