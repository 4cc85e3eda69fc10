"""Reading one problem file: its module, its program and its case, or the fault that is its own status.

This runs in the throwaway process only: it executes the user's code.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from kagent_bench.artefacts.module_runner import in_order, split
from kagent_bench.evaluate.modules.extract import Extraction, NotExtractable, extract
from kagent_bench.evaluate.modules.interpret import ProgramRun
from kagent_bench.evaluate.modules.values import StorageWriter, TooMuchStructure
from kagent_bench.model.case import MODULE_ORIGIN, Case
from kagent_bench.model.identity import digest, make_case
from kagent_bench.model.program import Fault, Module
from kagent_bench.model.program_json import encode_program

if TYPE_CHECKING:
    from kagent_bench.model.names import ModuleName

SEED = 0
"""Seed before the class is made, on both sides."""
CHECK_RELATIVE = 1e-3
"""Largest relative difference between module and program that is rounding: the same operators in another order."""
DETAIL_CHARACTERS = 500
_MODULE = "kab_problem"
_ARGUMENTS = (torch.Tensor, bool, int, float, complex, str, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A problem that can be judged."""

    module: Module
    case: Case


def read_problem(
    path: Path, name: ModuleName, *, source: str | None = None, root: Path | None = None
) -> Recorded | Fault:
    """Record a problem file.

    Args:
        path: the Python file, whose lines are quoted.
        name: the problem's name.
        source: text with ``Model``, ``get_inputs`` and ``get_init_inputs``; None for the file's own.
        root: the folder that it imports from; None for the file's.
    """
    if source is None:
        source = path.read_text(encoding="utf-8", errors="replace")
    try:
        with _as_main_folder(root or path.parent):
            return _record(path, name, source)
    except NotExtractable as error:
        return _fault(error.reason, error.detail)
    except TooMuchStructure as error:
        return _fault("too_large", str(error))
    except SyntaxError as error:
        return _fault("syntax_error", f"line {error.lineno}: {error.msg}")
    except ImportError as error:
        return _fault("missing_import", _explain(error, path))
    except MemoryError as error:
        return _fault("too_large", _explain(error, path))
    except SystemExit as error:
        return _fault("problem_exits", f"the file ends the process with code {error.code}")
    except BaseException as error:  # noqa: BLE001 - whatever the user's file raises is its own status
        reason = "too_large" if "can't allocate memory" in str(error) else "problem_raises"
        return _fault(reason, _explain(error, path))


def _record(path: Path, name: ModuleName, source: str) -> Recorded | Fault:
    torch.manual_seed(SEED)
    namespace = _load(path, source)
    lacking = [item for item in ("Model", "get_inputs") if not callable(namespace.get(item))]
    if lacking:
        return _fault("no_problem", f"the file defines no {' and no '.join(lacking)}")
    init, init_kwargs = split(namespace.get("get_init_inputs", list)())
    torch.manual_seed(SEED)
    model = namespace["Model"](*init, **init_kwargs)
    if not isinstance(model, torch.nn.Module):
        return _fault("no_problem", f"Model makes a {type(model).__name__}, not a torch.nn.Module")
    model = model.eval().requires_grad_(requires_grad=False)
    args = in_order(model, namespace["get_inputs"]())
    strange = [type(value).__name__ for value in _flat(args) if not isinstance(value, _ARGUMENTS)]
    if strange:
        detail = f"get_inputs gives a {strange[0]}: an argument is a tensor, a number, or a sequence of these"
        return _fault("argument_kind", detail)
    extraction = extract(model, args, str(path))
    difference = _difference(model, extraction, args)
    if difference:
        return _fault("program_differs", difference)
    plain = _plain(init)
    plain_kwargs = {key: _plain(value) for key, value in init_kwargs.items()}
    is_plain = plain is not ... and ... not in plain_kwargs.values()
    module = Module(
        name=name,
        program=extraction.program,
        source=source,
        init=plain if is_plain else None,
        init_kwargs=tuple(plain_kwargs.items()) if is_plain else (),
        notes=() if extraction.way == "export" else (f"recorded by {extraction.way}",),
    )
    return Recorded(module=module, case=_case(module, model, args))


def _load(path: Path, source: str) -> dict[str, Any]:
    made = ModuleType(_MODULE)
    made.__file__ = str(path)
    sys.modules[_MODULE] = made
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(made))  # noqa: S102 - the user's code, contained
    return vars(made)


def _difference(model: torch.nn.Module, extraction: Extraction, args: list[Any]) -> str:
    """Return how the program's result differs from the module's, empty if it does not."""
    parameters, buffers = _named(model)
    named = {**parameters, **buffers}
    with torch.no_grad():
        given = _copied(args)
        state = {item.name: named[item.paths[0]].clone() for item in extraction.program.state}
        got = _leaves(ProgramRun(extraction.program)(*given, **state))
        expected = _leaves(model(*_copied(args)))
    if len(got) != len(expected):
        return f"the program returns {len(got)} tensors, the module {len(expected)}"
    for index, (ours, theirs) in enumerate(zip(got, expected, strict=True)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            return f"output {index} is {tuple(ours.shape)} {ours.dtype}, the module's {tuple(theirs.shape)} {theirs.dtype}"
        if not torch.allclose(
            ours.double(), theirs.double(), rtol=CHECK_RELATIVE, atol=CHECK_RELATIVE, equal_nan=True
        ):
            return f"output {index} of the program has other values than the module's"
    return ""


def _named(model: torch.nn.Module) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return parameters and buffers under every name that they have: an export may choose any of a tied one's."""
    parameters: dict[str, torch.Tensor] = dict(model.named_parameters(remove_duplicate=False))
    return parameters, dict(model.named_buffers(remove_duplicate=False))


def _case(module: Module, model: torch.nn.Module, args: list[Any]) -> Case:
    writer = StorageWriter()
    specified = tuple(writer.argument(value) for value in args)
    parameters, buffers = _named(model)
    named = {
        item.name: (
            (parameters[item.paths[0]], False)
            if item.paths[0] in parameters
            else (buffers[item.paths[0]], True)
        )
        for item in module.program.state
    }
    state = writer.state(named)
    storages = tuple(writer.storages)
    floats = [item.dtype for item in storages if item.dtype.startswith(("float", "bfloat", "complex"))]
    return make_case(
        module.name,
        specified,
        state,
        storages,
        dtype=(floats or [item.dtype for item in storages] or ["float32"])[0],
        origin=MODULE_ORIGIN,
        program_sha256=digest(encode_program(module.program)),
    )


def _plain(value: Any) -> Any:
    """Return a value of the class's arguments as data, ``...`` where it is none."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        items = tuple(_plain(item) for item in value)
        return ... if ... in items else items
    return ...


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, list | tuple) else [value]


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


def _leaves(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [leaf for item in value for leaf in _leaves(item)] if isinstance(value, list | tuple) else []


def _fault(reason: str, detail: str) -> Fault:
    return Fault(reason=reason, detail=detail[:DETAIL_CHARACTERS])


def _explain(error: BaseException, path: Path) -> str:
    """Return the error with the last line of the problem file that it went through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    at = f" (line {frames[-1].lineno}: {frames[-1].line})" if frames else ""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}{at}"


@contextmanager
def _as_main_folder(folder: Path) -> Iterator[None]:
    """Let the file import its neighbours, as a script can."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
