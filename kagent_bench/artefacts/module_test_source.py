"""Writes the self-contained test of a module problem: its source, and a comparison of a kernel file with it."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kagent_bench.model.case import Case
    from kagent_bench.model.program import Module

_RUNNER = "module_runner.py"
_START = "# --- the problem ---\n"
_END = "# --- the problem ends ---\n"


def write_module_test(module: Module, case: Case, tolerance: Mapping[str, float]) -> str:
    """Return the text of a module's test file, the same for the same arguments.

    Args:
        module: the problem.
        case: its case.
        tolerance: Tolerance factor by torch's dtype name.
    """
    factor = max((tolerance.get(storage.dtype, 0.0) for storage in case.storages), default=0.0)
    lines = [
        f"PROBLEM = {module.source!r}",
        f'KERNEL_NAME = "{module.name.kernel_stem}.py"',
        f"STATE = {[(item.name, item.paths[0]) for item in module.program.state]!r}",
        f"TOLERANCE = {factor!r}",
        "",
    ]
    text = resources.files(__package__).joinpath(_RUNNER).read_text(encoding="utf-8")
    before, rest = text.split(_START)
    _, after = rest.split(_END)
    return before + "\n".join(lines) + after
