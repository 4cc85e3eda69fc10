"""Functions of the libraries that a kernel file replaces are told."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.runtime import interpreter

from kagent_bench.evaluate.candidate.integrity import TORCH, TRITON, Snapshot


def foreign(*_: object) -> None:
    """Do nothing, in the place of something."""


@pytest.mark.parametrize(
    ("owner", "name"), [(torch.Tensor, "detach"), (torch.Tensor, "copy_"), (tl, "load"), (tl.tensor, "to")]
)
def test_a_replaced_function_is_told(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Of a module, of its classes, of a class, and one that a class inherits."""
    before = Snapshot([*TORCH, *TRITON])
    assert "" == before.replaced()
    monkeypatch.setattr(owner, name, partial(foreign, 1))
    assert name == before.replaced()


def test_what_the_interpreter_computes_with_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's functions, a module that another stands in for, and a method that only one object has."""
    before = Snapshot(TRITON)
    for owner, name in (
        (np, "exp"),
        (interpreter, "_interpreter"),
        (interpreter.interpreter_builder, "create_fabs"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, foreign)
            assert name == before.replaced()
    assert "" == before.replaced()


def test_claiming_to_be_of_a_library_does_not_help(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function's file counts, not the module that it says it is of."""
    before = Snapshot(TRITON)

    def claims() -> None:
        """Do nothing."""

    claims.__module__ = "triton.language"
    monkeypatch.setattr(tl, "load", claims)
    assert "load" == before.replaced()


def test_what_is_added_is_no_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel file may provide what an older version lacks, and the libraries replace their own functions."""
    before = Snapshot(["triton.language", "torch"])
    monkeypatch.setattr(tl, "newer", foreign, raising=False)
    monkeypatch.setattr(torch, "relu", torch.sigmoid)
    monkeypatch.setattr(tl, "static_print", print)
    assert "" == before.replaced()


def test_a_registered_operator_is_told() -> None:
    """The library's own operators have an implementation already."""
    before = Snapshot(TORCH)
    make: Any = torch.library.Library
    library = make("aten", "IMPL")
    library.impl("alias_copy", foreign, "CPU")
    try:
        assert "aten/alias_copy/CPU" == before.replaced()
    finally:
        library._destroy()
    assert "" == before.replaced()
