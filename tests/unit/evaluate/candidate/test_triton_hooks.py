"""What is changed of Triton's interpreter changes no result but those that a compiler does not have."""

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


def test_a_comparison_stays_one_beside_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """``(columns < n) & (row != padding)`` is a mask, as atomic operations want one: of truth values, not of integers."""
    monkeypatch.setattr(
        interpreter.InterpreterBuilder, "create_splat", interpreter.InterpreterBuilder.create_splat
    )
    triton_hooks.keep_comparisons()
    numbers = tl.tensor(interpreter.TensorHandle(np.array([3], dtype=np.int64), tl.int64), tl.int64)
    columns = tl.tensor(
        interpreter.TensorHandle(np.arange(4, dtype=np.int32), tl.int32), tl.block_type(tl.int32, [4])
    )
    semantic = interpreter.interpreter_semantic
    three, two = (semantic.full([], value, kind) for value, kind in ((3, tl.int64), (2, tl.int32)))
    mask = semantic.and_(semantic.less_than(columns, two), semantic.equal(numbers, three))
    assert ([True, True, False, False], np.dtype(bool)) == (mask.handle.data.tolist(), mask.handle.data.dtype)
