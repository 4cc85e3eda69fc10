"""Whether torch and Triton are still what they were: a kernel file that replaces their functions decides what they do."""

from __future__ import annotations

import importlib
import os
from functools import partial
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
import torch.library
import triton

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TRITON = (
    "numpy",
    "triton._C.libtriton.interpreter",
    "triton.language",
    "triton.language.core",
    "triton.language.extra.cuda.libdevice",
    "triton.language.extra.libdevice",
    "triton.language.math",
    "triton.language.standard",
    "triton.runtime.interpreter",
    "triton.runtime.interpreter:interpreter_builder",
    "triton.runtime.jit",
)
"""Modules, and an object of one behind a colon, that decide what a launch computes."""
TORCH = ("torch._C:TensorBase", "torch:Tensor", "torch:UntypedStorage")
"""Classes, behind their modules, that decide what is read from a returned tensor."""
_FILES = tuple(f"{Path(package.__file__ or '').parent}{os.sep}" for package in (torch, triton))
_THEIR_OWN = frozenset(["torch", "triton", "builtins"])
"""Packages that may stand in for such functions: the interpreter replaces many for a launch, one by ``print``."""


class Snapshot:
    """The functions and classes of some modules, with those of their classes."""

    def __init__(self, names: Iterable[str]) -> None:
        """Take down what there is now.

        Args:
            names: modules, or a class or an object of one behind a colon.
        """
        self._known: list[tuple[Mapping[str, Any], dict[str, Any], frozenset[str]]] = []
        """Members of a module or class, as they are and as they were, and names that a class inherits."""
        for name in names:
            module, _, attribute = name.partition(":")
            owner = importlib.import_module(module)
            if attribute:
                self._take(getattr(owner, attribute))
                continue
            self._take(owner)
            for value in vars(owner).values():
                if isinstance(value, type) and value.__module__ == module and module.startswith("triton"):
                    self._take(value)
        self._registered = frozenset(torch.library._impls)  # noqa: SLF001 - where torch keeps what Python registered

    def _take(self, owner: object) -> None:
        members = vars(owner)
        bases = owner.__mro__[1:] if isinstance(owner, type) else type(owner).__mro__
        inherited = frozenset(name for base in bases for name in vars(base))
        self._known.append((members, dict(members), inherited - members.keys()))

    def replaced(self) -> str:
        """Return the name of a function that somebody else than its own package replaced, or an empty string."""
        for members, known, inherited in self._known:
            if members == known:
                continue
            for name, found in members.items():
                before = known.get(name)
                decides = _decides(before) or (name in inherited and callable(found))
                if decides and found is not before and not _is_their_own(found):
                    return name
        registered = torch.library._impls  # noqa: SLF001 - as above
        if len(registered) == len(self._registered):  # whoever registers takes nothing of others away
            return ""
        return next((name for name in sorted(registered - self._registered) if name.startswith("aten/")), "")


def _decides(value: object) -> bool:
    return callable(value) or isinstance(value, ModuleType)


def _is_their_own(value: object) -> bool:
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):  # its file is harder to claim than its module
        return code.co_filename.startswith(_FILES)
    if isinstance(value, partial):
        return _is_their_own(value.func)
    if isinstance(value, property):
        return _is_their_own(value.fget)
    module = getattr(value, "__module__", None)
    return not isinstance(module, str) or module.partition(".")[0] in _THEIR_OWN
