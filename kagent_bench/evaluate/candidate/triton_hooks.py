"""Hooks into Triton, set once in the fork server: launches are counted, autotuning works without a driver.

Known limits of the interpreter (checked with Triton 3.7 to 3.9): bfloat16 arithmetic works on raw bit patterns,
``@triton.autotune`` asks for a driver, libdevice has no functions, and a comparison of numbers that meets one of blocks
becomes an integer, which no atomic operation takes for a mask. The first is noted, so that a wrong value is not blamed
on the kernel; the second is answered with the first configuration, the third by ``libdevice``; the last is mended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import triton

from kagent_bench.evaluate.candidate import libdevice
from kagent_bench.evaluate.candidate.observe import OBSERVER

_LANGUAGE = (triton.language, triton.language.core)
_patched: set[int] = set()
"""The modules of the language that the current launch has replaced functions of."""
_BIT_ARITHMETIC = ("binary_op", "unary_op", "create_fma", "create_dot")
"""Methods of the interpreter's builder that compute on a bfloat16's bits."""


def install(*, interpreter: bool) -> None:
    """Set the hooks for the mode that TRITON_INTERPRET chose."""
    if interpreter:
        _count_interpreted_launches()
        _note_bf16_arithmetic()
        quicken_interpreter()
        keep_comparisons()
        libdevice.install()
        # Equal times for every configuration: the first one wins, and no driver is asked.
        autotune_without_driver(lambda *_args, **_kwargs: [0.0, 0.0, 0.0])
    else:
        _count_compiled_launches()


def _count_interpreted_launches() -> None:
    from triton.runtime.interpreter import InterpretedFunction

    original = InterpretedFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        with OBSERVER.launch(self.fn, args, kwargs):
            if OBSERVER.ghost:
                return None
            hooks = self.pre_run_hooks
            self.pre_run_hooks = [OBSERVER.host_code(hook) for hook in hooks]
            try:
                size = OBSERVER.host_code(grid) if callable(grid) else grid
                return original(self, *args, grid=size, warmup=warmup, **kwargs)
            finally:
                self.pre_run_hooks = hooks

    InterpretedFunction.run = run


def quicken_interpreter() -> None:
    """Spare the interpreter most of its time; what it computes stays the same."""
    _patch_language_once_a_launch()
    _do_not_look_for_overflows()


def _patch_language_once_a_launch() -> None:
    """Let a launch replace the language's functions once, not at each call of a device function such as ``tl.sum``.

    The interpreter does so over and over within one launch, which takes two thirds of its time.
    """
    from triton.runtime import interpreter

    original = getattr(interpreter, "_patch_lang", None)
    scope = getattr(interpreter, "_LangPatchScope", None)
    if original is None or scope is None:
        return

    def patch(function: Any) -> Any:
        found = {
            id(value) for value in _LANGUAGE if any(value is known for known in function.__globals__.values())
        }
        if found and found <= _patched:
            return scope()
        _patched.update(found)
        made = original(function)
        undo = made.restore

        def restore() -> None:  # called at the end of a launch
            _patched.clear()
            undo()

        made.restore = restore
        return made

    interpreter._patch_lang = patch  # noqa: SLF001 - Triton offers no other way


def _do_not_look_for_overflows() -> None:
    """Spare the interpreter the check of every sum and product of integers, which takes a third of its time.

    It computes each of them again in 64 bits, and forgets what it found unless it debugs, which it never does.
    """
    from triton.runtime.interpreter import interpreter_builder

    options = interpreter_builder.options
    if not options.debug and hasattr(options, "sanitize_overflow"):
        interpreter_builder.options = replace(options, sanitize_overflow=False)


def keep_comparisons() -> None:
    """Let a block that is made of one truth value hold truth values."""
    from triton.runtime.interpreter import InterpreterBuilder

    original = InterpreterBuilder.create_splat

    def create_splat(self: Any, kind: Any, value: Any) -> Any:
        block = original(self, kind, value)
        if getattr(kind, "scalar", None) == triton.language.int1:
            block.data, block.dtype = block.data.astype(bool), triton.language.int1
        return block

    InterpreterBuilder.create_splat = create_splat


def _count_compiled_launches() -> None:
    from triton.runtime.jit import JITFunction

    original = JITFunction.run

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        with OBSERVER.launch(self.fn):
            if OBSERVER.ghost:
                return None
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)

    JITFunction.run = run


def _note_bf16_arithmetic() -> None:
    from triton.runtime.interpreter import InterpreterBuilder

    for name in _BIT_ARITHMETIC:
        original = getattr(InterpreterBuilder, name)

        def noted(self: Any, first: Any, *rest: Any, original: Any = original) -> Any:
            if first.dtype.scalar == triton.language.bfloat16:
                OBSERVER.bf16_arithmetic = True
            return original(self, first, *rest)

        setattr(InterpreterBuilder, name, noted)


def autotune_without_driver(bench: Callable[..., list[float]]) -> None:
    """Give every autotuner made from now on this function for timing a configuration."""
    from triton.runtime.autotuner import Autotuner

    original = Autotuner.__init__

    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        for outdated in ("warmup", "rep", "use_cuda_graph"):
            kwargs.pop(outdated, None)
        kwargs["do_bench"] = bench
        original(self, *args, **kwargs)

    Autotuner.__init__ = initialise
