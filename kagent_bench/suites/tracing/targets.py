"""What a user can have traced: a function of a module, a file in KernelBench's form, or a script as it is."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import torch

from kagent_bench.errors import UsageError
from kagent_bench.model.python_text import parse_python

NEEDED = ("Model", "get_inputs")
"""What a file of KernelBench defines; ``get_init_inputs`` too, where the model takes any."""


class Form(Enum):
    """How a target is run."""

    FUNCTION = "module:callable"
    KERNELBENCH = "file with Model and get_inputs"
    SCRIPT = "script"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A model and what it is called with."""

    model: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be traced."""

    text: str
    form: Form

    @property
    def name(self) -> str:
        """What the trace calls the model unless the user says."""
        return self.text if self.form is Form.FUNCTION else Path(self.text).stem

    def prepare(self) -> Workload | None:
        """Return the model with its arguments; None where running the target is all there is to do.

        A function that returns a module, or a module with arguments (a tuple or a mapping), has prepared a model;
        one that returns anything else has already run it.

        Raises:
            UsageError: the target cannot be imported, or does not return what it should.
        """
        if self.form is Form.KERNELBENCH:
            return _kernelbench(Path(self.text))
        returned = _function(self.text)()
        if isinstance(returned, torch.nn.Module):
            message = f"{self.text} returned a model without arguments"
            raise UsageError(message, hint="let it return (model, arguments), or call the model itself")
        if isinstance(returned, tuple) and returned and isinstance(returned[0], torch.nn.Module):
            return _workload(returned)
        return None

    def run_script(self, arguments: Sequence[str]) -> None:
        """Run a script as ``python SCRIPT ARGUMENTS`` would."""
        before = sys.argv, sys.path[:]
        sys.argv = [self.text, *arguments]
        sys.path.insert(0, str(Path(self.text).resolve().parent))
        try:
            runpy.run_path(self.text, run_name="__main__")
        except SystemExit as ended:
            if ended.code not in (None, 0):
                message = f"the script {self.text} ended with {ended.code!r}"
                raise UsageError(message, hint="see what it printed") from ended
        finally:
            sys.argv, sys.path[:] = before


def find_target(text: str) -> Target:
    """Return the target that a user names.

    Raises:
        UsageError: there is no such file, and the text is no ``module:callable``.
    """
    path = Path(text)
    if path.suffix == ".py" or path.is_file():
        if not path.is_file():
            message = f"no file {text}"
            raise UsageError(message, hint="name a Python file, or module:callable")
        return Target(text=text, form=Form.KERNELBENCH if _defines(path) else Form.SCRIPT)
    module, _, name = text.partition(":")
    if not module or not name:
        message = f"'{text}' is neither a Python file nor module:callable"
        raise UsageError(message, hint="for example: kab trace my_package.models:make --output my_model.txt")
    return Target(text=text, form=Form.FUNCTION)


def _defines(path: Path) -> bool:
    """Return whether a file has what KernelBench asks for, without running it."""
    try:
        tree = parse_python(path.read_bytes())
    except SyntaxError as error:
        message = f"{path} is no Python file: {error}"
        raise UsageError(message, hint="name a Python file, or module:callable") from error
    kinds = (ast.ClassDef, ast.FunctionDef)
    return set(NEEDED) <= {node.name for node in tree.body if isinstance(node, kinds)}


def _kernelbench(path: Path) -> Workload:
    spec = importlib.util.spec_from_file_location("traced_problem", path)
    if spec is None or spec.loader is None:
        message = f"{path} is no Python file"
        raise UsageError(message, hint="name a Python file, or module:callable")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make: Callable[[], Sequence[Any]] = getattr(module, "get_init_inputs", list)
    init = list(make())
    # Two forms are in use: a list of arguments, and a list of such a list with a mapping of keywords.
    if len(init) == 2 and isinstance(init[0], list | tuple) and isinstance(init[1], dict):  # noqa: PLR2004
        return Workload(model=module.Model(*init[0], **init[1]), args=tuple(module.get_inputs()))
    return Workload(model=module.Model(*init), args=tuple(module.get_inputs()))


def _function(text: str) -> Callable[[], Any]:
    module, _, name = text.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        message = f"cannot import '{module}' of {text}: {error}"
        raise UsageError(message, hint="it must be importable from here, or installed") from error
    finally:
        sys.path.pop(0)
    function: Callable[[], Any] | None = getattr(found, name, None)
    if function is None or not callable(function):
        message = f"module {module} has no function '{name}'"
        raise UsageError(message, hint="name a function that takes no arguments")
    return function


def _workload(returned: tuple[Any, ...]) -> Workload:
    model, *rest = returned
    args, kwargs = rest[0] if rest else (), rest[1] if len(rest) > 1 else {}
    if isinstance(args, Mapping):
        args, kwargs = (), args
    elif isinstance(args, torch.Tensor):
        args = (args,)
    return Workload(model=model, args=tuple(args), kwargs=dict(kwargs))
