"""Writes KernelBench-style problem files at a size that Triton's interpreter can run: ``python FILE FOLDER OUT``.

Whole numbers above 16 at the top of a file, alone or in lists and tuples, are halved until they are not; equal
numbers stay equal, so that shapes still fit each other. Nothing else changes.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

LARGEST = 16
"""Largest number that stays."""
ODD_BASE, ODD_RANGE = 12, 7
"""Odd numbers above twice the largest come to lie here, apart from each other where they were."""


def reduced(value: int) -> int:
    """Return a smaller number, the same for the same one."""
    while value > LARGEST and value % 2 == 0:
        value //= 2
    return value if value <= 2 * LARGEST else ODD_BASE + value % ODD_RANGE


class _Reducer(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if type(node.value) is int:
            return ast.Constant(reduced(node.value))
        return node


def reduce_source(source: str) -> str:
    """Return a problem file with small sizes."""
    tree = ast.parse(source)
    for item in tree.body:
        if isinstance(item, ast.Assign):
            item.value = _Reducer().visit(item.value)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def main(arguments: list[str]) -> None:
    """Reduce every file of a folder, folders inside included."""
    folder, out = Path(arguments[0]), Path(arguments[1])
    for path in sorted(folder.rglob("*.py")):
        target = out / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(reduce_source(path.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
