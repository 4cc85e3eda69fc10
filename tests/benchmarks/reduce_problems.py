"""Writes KernelBench-style problem files at a size that Triton's interpreter can run: ``python FILE FOLDER OUT``.

Whole numbers at the top of a file and in the functions that make inputs become smaller; equal numbers stay equal, so
that shapes still fit each other. Of several ways to do that the first is taken under which the module still runs.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

LARGEST = (8, 4, 16, 32)
"""Largest number that stays where numbers are halved one by one, in the order of trying."""
FACTORS = (32, 16, 8, 4, 2)
"""What all larger numbers are divided by where they have to stay in proportion."""
SMALL = (16, 24)
"""Numbers up to this are windows, strides or groups rather than sizes: a common division leaves them."""
ELEMENTS = (40_000, 400_000)
"""Elements of all values of a module together: what is wanted, and what is taken where nothing smaller runs."""

Reduction = Callable[[int], int]


def halved(largest: int) -> Reduction:
    """Return a function that halves a number until it is small; odd ones come to lie apart, near to it."""

    def reduced(value: int) -> int:
        while value > largest and value % 2 == 0:
            value //= 2
        return value if value <= 2 * largest else largest * 3 // 4 + value % 7

    return reduced


def divided(factor: int, small: int) -> Reduction:
    """Return a function that divides all large numbers by the same."""
    return lambda value: value if value <= small else max(2, value // factor)


def reductions() -> Iterator[Reduction]:
    """Yield the ways to reduce, in the order of trying."""
    yield from map(halved, LARGEST[:2])
    yield from (divided(factor, small) for small in SMALL for factor in FACTORS)
    yield from map(halved, LARGEST[2:])


class _Reducer(ast.NodeTransformer):
    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant(self._reduction(node.value)) if type(node.value) is int else node


def reduce_source(source: str, reduction: Reduction) -> str:
    """Return a problem file with small sizes."""
    tree = ast.parse(source)
    for item in tree.body:
        if isinstance(item, ast.Assign | ast.FunctionDef):
            _Reducer(reduction).visit(item)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


class _Elements(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the elements that a module computes."""

    def __init__(self, most: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count, self._most = 0, most

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        items = result if isinstance(result, list | tuple) else [result]
        self.count += sum(item.numel() for item in items if isinstance(item, torch.Tensor))
        if self.count > self._most:
            message = "too large"
            raise MemoryError(message)
        return result


def runs(source: str, most: int) -> bool:
    """Return whether a problem file's module runs and returns elements, and computes no more than so many."""
    names: dict[str, Any] = {"__name__": "problem"}
    try:
        with _Elements(most), torch.no_grad():
            exec(source, names)  # noqa: S102 - the files are the benchmark's own
            result = names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())
    except Exception:  # noqa: BLE001 - whatever a shape that does not fit raises
        return False
    return not isinstance(result, torch.Tensor) or result.numel() > 0


def smallest(source: str) -> str:
    """Return a file reduced in the first way under which it runs; under none, in the first way at all."""
    made = [reduce_source(source, reduction) for reduction in reductions()]
    return next((text for most in ELEMENTS for text in made if runs(text, most)), made[0])


def main(arguments: list[str]) -> None:
    """Reduce every file of a folder, folders inside included."""
    folder, out = Path(arguments[0]), Path(arguments[1])
    torch.set_num_threads(1)
    for path in sorted(folder.rglob("*.py")):
        target = out / path.relative_to(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        text = smallest(path.read_text())
        if not runs(text, ELEMENTS[-1]):
            print(f"{path.name} runs at no reduced size", file=sys.stderr)
        target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
