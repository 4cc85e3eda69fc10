"""A candidate that compiles its launches for a named GPU target, and runs none of them.

The kernel's own host code runs in a process in which Triton compiles, so Triton itself works out every signature:
types, compile time values, tuples, alignment. Where TRITON_INTERPRET is asked for it has the value that it has where
kernels are interpreted. What an interpreter would run and no compiler takes (NumPy inside a kernel, objects of Python)
shows as an error that is raised while code is generated from the kernel; all other errors are limits of this check.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import triton
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from kagent_bench.evaluate.candidate import triton_hooks

if TYPE_CHECKING:
    from kagent_bench.evaluate.candidate.memory import Call

MAX_KERNELS = 64
"""Kernels of a file that are told of."""
DETAIL_CHARACTERS = 400
_UNCOMPILABLE_ARGUMENTS = ("failed to specialize argument", "Unsupported type")
"""What Triton says of an argument that only the interpreter takes, such as a list."""
_NO_DRIVER = "0 active drivers ([]). There should only be one."
_OURS = (_NO_DRIVER.partition(" (")[0], "MemoryError")
"""What an error while code is generated says if it is this process's doing."""


@dataclass(slots=True, kw_only=True)
class Compiled:
    """What became of the launches of one kernel."""

    fault: str = ""
    """Why it does not compile, if that is its own doing."""
    unknown: str = ""
    """Why it is not known whether it compiles."""


class Compiler:
    """Compiles launches for one target; a process has one."""

    def __init__(self, target: str, author: str) -> None:
        """Take the target as ``backend:architecture:threads in a warp``, and the file whose kernels count."""
        backend, architecture, warp = target.split(":")
        number: str | int = int(architecture) if architecture.isdigit() else architecture
        self.target = GPUTarget(backend, number, int(warp))
        self._author = author
        self._kernels: dict[str, Compiled] = {}
        self._tuning = 0

    def install(self) -> None:
        """Have every launch of this process compiled and not run."""
        driver.set_active(_NoDevice(self.target))
        triton.compiler.compile = self._compile
        self._keep_interpreter_hidden()
        triton_hooks.autotune_without_driver(self._tune)
        original = JITFunction.run

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            del warmup
            try:
                original(function, *args, grid=grid, warmup=True, **kwargs)
            except CompileTimeAssertionFailure as error:
                if self._tuning:  # the tuner takes another configuration, as it would on a device
                    raise
                self._note(function, error)
            except Exception as error:  # noqa: BLE001 - whatever Triton raises is noted
                self._note(function, error)
            else:
                self._note(function, None)

        JITFunction.run = run

    def call(self, function: Any, call: Call) -> dict[str, Any]:
        """Call the kernel's host code once; returns what became of its launches, as it is sent."""
        self._kernels.clear()
        raised = ""
        try:
            args, kwargs = call.arguments()
            with torch.no_grad():
                function(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a launch that computes nothing may well confuse host code
            raised = _short(f"{type(error).__name__}: {error}")
        kernels = [
            [name, found.fault, found.unknown] for name, found in list(self._kernels.items())[:MAX_KERNELS]
        ]
        return {"outcome": "compiled", "kernels": kernels, "raised": raised}

    @staticmethod
    def _keep_interpreter_hidden() -> None:
        shown = os.environ.get("TRITON_INTERPRET")
        triton.knobs.runtime.interpret = False
        if shown is not None:  # Triton's setting writes the variable too
            os.environ["TRITON_INTERPRET"] = shown

    def _tune(self, kernel_call: Any, **_: Any) -> list[float]:
        self._tuning += 1
        try:
            kernel_call()
        finally:
            self._tuning -= 1
        return [0.0, 0.0, 0.0]

    def _note(self, function: Any, error: Exception | None) -> None:
        code = getattr(function.fn, "__code__", None)
        if code is None or code.co_filename != self._author:
            return
        found = self._kernels.setdefault(function.fn.__qualname__[:200], Compiled())
        if error is None:
            return
        text = _explain(error)
        if _is_its_own(error, text):
            found.fault = found.fault or text
        else:
            found.unknown = found.unknown or text

    def _compile(self, source: Any, target: Any = None, options: Any = None, **_: Any) -> object:
        """Generate code from a kernel, in Triton's compiler's place."""
        backend = triton.compiler.make_backend(target or self.target)
        known = {
            "target": target or self.target,
            "options": backend.parse_options(dict(options or {}, **source.parse_options())),
            "module_map": backend.get_module_map(),
            "context": ir.context(),
        }
        ir.load_dialects(known["context"])
        backend.load_dialects(known["context"])
        known["codegen_fns"] = backend.get_codegen_implementation(known["options"])
        wanted = inspect.signature(source.make_ir).parameters
        source.make_ir(**{name: known[name] for name in wanted})
        return object()


class _NoDevice:
    """A driver that knows the target and nothing else; asked for more it fails as where there is none."""

    def __init__(self, target: GPUTarget) -> None:
        self._target = target

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(_NO_DRIVER)


def _is_its_own(error: Exception, text: str) -> bool:
    """Return whether an error is the kernel's doing: raised for its code, or for what it is given."""
    if any(words in text for words in _OURS):
        return False
    if isinstance(error, CompilationError):
        return True
    return isinstance(error, TypeError) and any(words in text for words in _UNCOMPILABLE_ARGUMENTS)


def _explain(error: Exception) -> str:
    """Return the innermost message with the line of the kernel, without Triton's listing of the source."""
    if not isinstance(error, CompilationError):
        return _short(f"{type(error).__name__}: {error}")
    inner: Any = error
    while isinstance(inner.__cause__, CompilationError):
        inner = inner.__cause__
    said = inner.error_message or repr(inner.__cause__ or inner.__context__ or "")
    line = getattr(inner.node, "lineno", 0)
    lines = (inner.src or "").splitlines()
    where = f"`{lines[line - 1].strip()}`: " if 0 < line <= len(lines) else ""
    return _short(f"{where}{said}")


def _short(text: str) -> str:
    return " ".join(text.split())[:DETAIL_CHARACTERS]
