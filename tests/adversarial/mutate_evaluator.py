"""Drops the evaluator's checks one at a time and shows that a test notices: ``python -m tests.adversarial.mutate_evaluator``.

A mutant is a module with one check less: an ``if`` that returns or raises never does, or one of several checks
joined by ``or`` in a ``return`` is left out. The oracle's unit tests are run against each mutant in a copy.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kagent_bench.config.environment import process_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
MODULES = tuple(
    f"kagent_bench/evaluate/oracle/{name}.py"
    for name in ("compare", "contract", "case_judge", "case_work", "returned")
)
"""Where what decides a verdict is."""
SHORTCUTS = frozenset(
    [
        "before == after",
        "self.tally.survivors is not None and (not self.tally.survivors)",
        "self._finite and bool(torch.isfinite(got).all())",
        "eager.is_floating_point() or eager.is_complex()",
        "torch.equal(actual, eager)",
        "bool(same.all())",
    ]
)
"""Conditions that only save work, or say earlier what an assertion says later."""
COPIED = ("kagent_bench", "configs", "tests", "pyproject.toml")
TESTS = "tests/unit/evaluate/oracle"
LIMIT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A module without one of its checks."""

    module: str
    line: int
    what: str
    """The check that is gone."""
    source: str


def mutants(module: str) -> Iterator[Mutant]:
    """Yield the module once for each of its checks, without it."""
    text = (ROOT / module).read_text()
    for index, node in enumerate(ast.walk(ast.parse(text))):
        for change in _changes(node):
            tree = ast.parse(text)
            target = list(ast.walk(tree))[index]
            what = _drop(target, change)
            yield Mutant(module=module, line=getattr(node, "lineno", 0), what=what, source=ast.unparse(tree))


def _changes(node: ast.AST) -> range:
    """Return what can be left out of a node, by number."""
    if (
        isinstance(node, ast.If)
        and isinstance(node.body[-1], (ast.Return, ast.Raise))
        and not _is_shortcut(node)
    ):
        return range(1)
    if (
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.BoolOp)
        and isinstance(node.value.op, ast.Or)
    ):
        return range(len(node.value.values))
    return range(0)


def _is_shortcut(node: ast.If) -> bool:
    """Return whether without an ``if`` the same comes out, only later."""
    return ast.unparse(node.test) in SHORTCUTS


def _drop(node: ast.AST, change: int) -> str:
    if isinstance(node, ast.If):
        what = f"if {ast.unparse(node.test)}"
        node.test = ast.Constant(value=False)
        return what
    assert isinstance(node, ast.Return)
    assert isinstance(node.value, ast.BoolOp)
    dropped = node.value.values[change]
    node.value.values[change] = ast.Constant(value=None)
    return ast.unparse(dropped)


def survives(mutant: Mutant, copy: Path) -> bool:
    """Return whether no unit test of the oracle notices a mutant; ``copy`` is a checkout that may be changed."""
    target = copy / mutant.module
    original = target.read_text()
    target.write_text(mutant.source)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider", TESTS]
    environment = {**process_environment(), "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, timeout=LIMIT_S, check=False, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(original)
    return run.returncode == 0


def checkout(folder: Path) -> Path:
    """Return a copy of what the tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)
    return folder


def main(modules: list[str]) -> int:
    """Try every mutant of the given modules, all without any; returns the number of those that no test notices."""
    unnoticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = checkout(Path(folder))
        for module in modules or MODULES:
            for mutant in mutants(module):
                alive = survives(mutant, copy)
                unnoticed += alive
                word = "NOT NOTICED" if alive else "noticed"
                sys.stdout.write(f"{word}: {mutant.module}:{mutant.line}: {mutant.what}\n")
                sys.stdout.flush()
    return unnoticed


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
