"""Where module problems come from: folders of problem files, single ones, and classes by name.

A class, ``package.module:Class`` or ``file.py:Class``, is a problem file that is not there: its text imports or appends
the class as ``Model``. What it is made of and called with is stated as in Python, ``torch.nn:Linear(16, 32)(torch.randn(4, 16))``,
or given by ``get_init_inputs`` and ``get_inputs`` of its module. So is a function, whose name begins with a small
letter: ``torch.nn.functional:gelu(torch.randn(4, 16))``. Nothing is imported to find them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from kagent_bench.errors import InputError
from kagent_bench.model.identity import digest, source_digest
from kagent_bench.model.names import ModuleName
from kagent_bench.model.python_text import parse_python

_SKIPPED = re.compile(r"(^|/)(\.|__)")
"""Paths that hold no problems: hidden ones and ``__init__``."""
_CLASS = re.compile(r"(?P<place>[\w.]+|.+\.py):(?P<call>[A-Za-z_]\w*\s*(\(.*\))?)", re.ASCII | re.DOTALL)
_NAME_ONE = "name a folder of KernelBench-style problem files, or a class as module:Class, with --suite-file"
_EXAMPLE = "for example: --suite-file 'torch.nn:Linear(16, 32)(torch.randn(4, 16))'"
_NOT_WORD = re.compile(r"\W+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleSource:
    """A problem file, or the text that stands for one."""

    name: ModuleName
    path: Path
    """The file whose lines are quoted: the problem file, or that of the class."""
    root: Path
    """The folder that it imports from."""
    text: str
    around: str
    """Hash of the files that it may import from there."""

    def sha256(self) -> str:
        """Return a hash of all that decides what is recorded of it, apart from versions."""
        return digest([self.name.stem, source_digest(self.text.encode()), self.around])


def find_sources(text: str) -> Iterator[ModuleSource]:
    """Yield what a user's text names.

    Raises:
        InputError: there is no such folder, file or module, or it has no problems.
    """
    root = Path(text).resolve()
    named = None if root.exists() else _CLASS.fullmatch(text.strip())
    if named is not None:
        yield _class_source(text, named["place"], named["call"])
        return
    if not root.exists():
        raise InputError(f"no folder or file '{text}'", hint=_NAME_ONE)
    base = root if root.is_dir() else root.parent
    found = False
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
        inner = path.relative_to(base).with_suffix("").as_posix()
        if not _SKIPPED.search(inner):
            found = True
            yield _file_source(path, ModuleName(_NOT_WORD.sub("_", inner)))
    if not found:
        raise InputError(f"'{text}' has no problem files (*.py)", hint=_NAME_ONE)


def _file_source(path: Path, name: ModuleName) -> ModuleSource:
    text = path.read_text(encoding="utf-8", errors="replace")
    around = digest(sorted((item.name, source_digest(item.read_bytes())) for item in _neighbours(path, text)))
    return ModuleSource(name=name, path=path, root=path.parent, text=text, around=around)


def _neighbours(path: Path, text: str) -> Iterator[Path]:
    """Yield the neighbouring files that a problem file imports by name."""
    for found in re.findall(r"^\s*(?:from|import)\s+(\w+)", text, re.MULTILINE):
        neighbour = path.with_name(f"{found}.py")
        if neighbour.is_file():
            yield neighbour


def _class_source(text: str, place: str, call: str) -> ModuleSource:
    name, stated = _stated(text, call)
    if place.endswith(".py"):
        path = Path(place).resolve()
        if not path.is_file():
            raise InputError(f"no file '{place}'", hint=_NAME_ONE)
        file = _file_source(path, ModuleName(name))
        parts = [file.text.rstrip("\n"), stated.pop(_MODEL, f"Model = {name}"), *stated.values()]
        return ModuleSource(
            name=file.name, path=path, root=file.root, text=_joined(parts), around=file.around
        )
    path, package = _find_module(text, place)
    parts = [f"import torch\nfrom {place} import {name}", stated.get(_MODEL, f"Model = {name}")]
    parts += [stated.get(item, _IMPORTED[item].format(place)) for item in _IMPORTED]
    return ModuleSource(
        name=ModuleName(name), path=path, root=package.parent, text=_joined(parts), around=_state_of(package)
    )


_MODEL = "Model"
_IMPORTED = {
    "get_init_inputs": "try:\n    from {0} import get_init_inputs\nexcept ImportError:\n    pass",
    "get_inputs": "from {0} import get_inputs",
}


_FUNCTION = """class Model(torch.nn.Module):
    def forward(self, *arguments):
        return {0}(*arguments{1})"""


def _joined(parts: list[str]) -> str:
    return "\n\n\n".join(parts) + "\n"


def _stated(text: str, call: str) -> tuple[str, dict[str, str]]:
    """Return the name of the class or function, and the definitions of a problem file that the text states, by name.

    Raises:
        InputError: it is no ``Class``, ``Class(...)``, ``Class(...)(...)`` with the last arguments by position, or
            ``function(...)``.
    """
    try:
        node = parse_python(call).body[0]
    except SyntaxError as error:
        raise InputError(f"'{text}': {error.msg}", hint=_EXAMPLE) from error
    assert isinstance(node, ast.Expr)
    calls: list[ast.Call] = []
    made = node.value
    while isinstance(made, ast.Call):
        calls.insert(0, made)
        made = made.func
    if not isinstance(made, ast.Name) or len(calls) > 2 or any(item.keywords for item in calls[1:]):  # noqa: PLR2004
        message = f"'{text}' is no class with what it is made of and, by position, what it is called with"
        raise InputError(message, hint=_EXAMPLE)
    functions = {}
    if made.id[0].islower():
        if len(calls) != 1:
            raise InputError(f"'{text}' does not say what the function is called with", hint=_EXAMPLE)
        words = "".join(f", {ast.unparse(word)}" for word in calls[0].keywords)
        functions[_MODEL] = _FUNCTION.format(made.id, words)
        calls = [
            ast.Call(func=made, args=[], keywords=[]),
            ast.Call(func=made, args=calls[0].args, keywords=[]),
        ]
    for function, item in zip(("get_init_inputs", "get_inputs"), calls, strict=False):
        given = f"[{', '.join(map(ast.unparse, item.args))}]"
        if item.keywords:
            words = ", ".join(f"{word.arg!r}: {ast.unparse(word.value)}" for word in item.keywords)
            given = f"[{given}, {{{words}}}]"
        functions[function] = f"def {function}():\n    import torch\n\n    return {given}"
    return made.id, functions


def _find_module(text: str, name: str) -> tuple[Path, Path]:
    """Return the file of a module, and the file or folder of its outermost package; nothing is imported.

    Raises:
        InputError: there is none.
    """
    first, *rest = name.split(".")
    spec = PathFinder.find_spec(first, [str(Path.cwd()), *sys.path])
    locations = list(spec.submodule_search_locations or []) if spec else []
    if spec is None or not (spec.origin or locations):
        message = f"'{text}': no module '{first}' can be imported from here"
        raise InputError(
            message, hint="install it, go to the folder that has it, or name a file: file.py:Class"
        )
    package = Path(locations[0]) if locations else Path(str(spec.origin))
    place = package.joinpath(*rest) if locations else package
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file, package
    return package, package


def _state_of(package: Path) -> str:
    """Return a hash of the sizes and times of a package's files."""
    files = sorted(package.rglob("*.py")) if package.is_dir() else [package]
    return digest([[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files])
