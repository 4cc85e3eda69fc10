"""What is changed of Triton's interpreter changes no result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from kagent_bench.evaluate.candidate import triton_hooks

if TYPE_CHECKING:
    import pytest


def test_sums_of_integers_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter's second sum in 64 bits, whose result it forgets, is left out; the sum wraps around as before."""
    builder = interpreter.interpreter_builder
    added: list[np.dtype[Any]] = []

    def counted(function: Any) -> Any:
        def add(left: Any, right: Any) -> Any:
            added.append(left.data.dtype)
            return function(left, right)

        return add

    monkeypatch.setattr(builder, "options", builder.options)
    monkeypatch.setattr(interpreter, "_patch_lang", interpreter._patch_lang)
    monkeypatch.setattr(builder, "create_add", counted(builder.create_add))
    triton_hooks.quicken_interpreter()
    handle = interpreter.TensorHandle(np.array([2**31 - 1, 5], dtype=np.int32), tl.int32)
    block = tl.tensor(handle, tl.block_type(tl.int32, [2]))
    total = interpreter.interpreter_semantic.add(block, block, sanitize_overflow=True)
    assert [-2, 10] == total.handle.data.tolist()
    assert [np.dtype("int32")] == added
