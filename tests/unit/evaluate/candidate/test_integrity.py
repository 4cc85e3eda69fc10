"""Functions of the libraries that a kernel file replaces are told."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
import triton.language as tl

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
