"""Finds PyTorch's own documentation of the public function that an ATen operator belongs to."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kagent_bench.model.names import OperatorName

_GROUPS = ("special", "linalg", "fft")
"""Public modules whose functions carry the module's name as prefix in ATen: ``special_erf``."""
_INTERNAL_PREFIXES = ("_native_", "native_", "_")
"""Prefixes of ATen operators that implement the public function of the rest of the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documentation:
    """The documentation of a public function."""

    function: str
    """Its name, such as ``torch.add``."""
    text: str
    """Its docstring."""


def find_documentation(operator: OperatorName) -> Documentation | None:
    """Return the documentation of the public function that an operator belongs to, or None.

    Of the functions that bear the name, the one with the longest text is taken: the others refer to it
    ("alias for", "in-place version of").
    """
    found = [
        Documentation(function=f"{label}.{attribute}", text=text.strip())
        for name in _spellings(operator.base)
        for label, owner in _owners(name)
        for attribute in (name.removeprefix(f"{label.rpartition('.')[2]}_"),)
        if (text := _docstring(owner, attribute))
    ]
    return max(found, key=lambda item: len(item.text), default=None)


def _docstring(owner: Any, attribute: str) -> str | None:
    function = getattr(owner, attribute, None)
    return inspect.getdoc(function) if callable(function) and not inspect.isclass(function) else None


def _spellings(base: str) -> Iterator[str]:
    """Yield the names under which the public function may be found: as it is, public, and in place."""
    names = [base, base.rstrip("_"), f"{base}_"]
    for name in list(names):
        names += [name.removeprefix(prefix) for prefix in _INTERNAL_PREFIXES if name.startswith(prefix)]
    yield from dict.fromkeys(name for name in names if name and not name.startswith("_"))


def _owners(name: str) -> Iterator[tuple[str, Any]]:
    import torch

    for group in _GROUPS:
        if name.startswith(f"{group}_"):
            yield f"torch.{group}", getattr(torch, group)
    yield "torch", torch
    yield "torch.nn.functional", torch.nn.functional
    yield "torch.Tensor", torch.Tensor
