"""Several kernel files as one: each name at the top of a file becomes unique, equal helpers are kept once.

Names are replaced where the compiler's own symbol table says that they mean the file's, never inside strings, and
never parameters or locals of the same name. Comments and layout of the authored text stay.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from dataclasses import dataclass, field

from kagent_bench.model.python_text import parse_python

_BUILTINS = frozenset(dir(builtins))


class NotMergeable(Exception):
    """A kernel file that cannot stand beside others in one file."""


@dataclass(slots=True)
class Merged:
    """The growing text of the one file."""

    imports: dict[str, None] = field(default_factory=dict)
    blocks: list[str] = field(default_factory=list)
    _known: dict[str, str] = field(default_factory=dict)
    """Definitions that are there: text with final names, by final name."""
    _values: dict[str, str] = field(default_factory=dict)

    def add(self, source: str, entry: str, name: str, suffix: str) -> None:
        """Add a kernel file.

        Args:
            source: its text.
            entry: its function that is called.
            name: what that shall be called.
            suffix: makes other names unique where they are taken by something else.

        Raises:
            NotMergeable: the file does more at its top than to define and import.
        """
        tree = parse_python(source)
        table = symtable.symtable(source, "kernel", "exec")
        statements = [_Statement.read(item, source) for item in tree.body if not _is_idle(item)]
        defined = {item.name for item in statements if item.name}
        if entry not in defined:
            raise NotMergeable(f"the file defines no {entry}")
        new: dict[str, str] = {entry: name}
        places = _Places(tree, table, frozenset(defined))
        for item in statements:
            if item.is_import:
                self.imports[item.text] = None
                continue
            if not item.name:
                raise NotMergeable(f"line {item.line}: only definitions and imports can be put together")
            final = new.get(item.name, item.name)
            text = places.renamed(item, source, {**new, item.name: final})
            if item.name != entry and final in self._known and self._known[final] == text:
                continue
            if final in self._known or (item.name != entry and final in _BUILTINS):
                final = f"{item.name}_{suffix}"
                text = places.renamed(item, source, {**new, item.name: final})
            new[item.name] = final
            self._known[final] = text
            self.blocks.append(text)

    def text(self) -> str:
        """Return the definitions, in order."""
        pieces: list[str] = []
        for block in self.blocks:
            is_function = block.startswith(("def ", "@", "class "))
            pieces.append(
                ("\n\n" if is_function or (pieces and pieces[-1].count("\n") > 1) else "") + block + "\n"
            )
        return "".join(pieces)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement at the top of a file."""

    name: str
    text: str
    start: int
    """First line, counted from 0."""
    end: int
    line: int
    is_import: bool

    @classmethod
    def read(cls, item: ast.stmt, source: str) -> _Statement:
        lines = source.splitlines()
        first = min([item.lineno, *(node.lineno for node in getattr(item, "decorator_list", []))])
        text = "\n".join(lines[first - 1 : item.end_lineno])
        name = ""
        if isinstance(item, ast.FunctionDef | ast.ClassDef):
            name = item.name
        elif (
            isinstance(item, ast.Assign) and len(item.targets) == 1 and isinstance(item.targets[0], ast.Name)
        ):
            name = item.targets[0].id
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            name = item.target.id
        return cls(
            name=name,
            text=text,
            start=first - 1,
            end=item.end_lineno or first,
            line=first,
            is_import=isinstance(item, ast.Import | ast.ImportFrom),
        )


def _is_idle(item: ast.stmt) -> bool:
    """Return whether a statement does nothing when the file is imported: a docstring, ``if __name__``."""
    if isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant):
        return True
    if isinstance(item, ast.ImportFrom) and item.module == "__future__":
        return True
    return isinstance(item, ast.If) and "__name__" in ast.unparse(item.test)


class _Places(ast.NodeVisitor):
    """Where the names of a file's own definitions are used."""

    def __init__(self, tree: ast.Module, table: symtable.SymbolTable, defined: frozenset[str]) -> None:
        self._defined = defined
        self._scopes = [table]
        self.places: list[tuple[int, int, str]] = []
        """Line from 0, column in bytes, name."""
        self._children: dict[tuple[str, int], list[symtable.SymbolTable]] = {}
        self._collect(table)
        self.visit(tree)

    def _collect(self, table: symtable.SymbolTable) -> None:
        for child in table.get_children():
            self._children.setdefault((child.get_name(), child.get_lineno()), []).append(child)
            self._collect(child)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._defined and self._is_global(node.id):
            self.places.append((node.lineno - 1, node.col_offset, node.id))

    def _is_global(self, name: str) -> bool:
        scope = self._scopes[-1]
        if scope.get_type() == "module":
            return True
        try:
            return scope.lookup(name).is_global()
        except KeyError:
            return True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for item in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(item)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.annotation is not None:
                self.visit(argument.annotation)
        if len(self._scopes) == 1 and node.name in self._defined:
            self.places.append((node.lineno - 1, node.col_offset + len("def "), node.name))
        self._inside(node, node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for item in (*node.decorator_list, *node.bases, *(word.value for word in node.keywords)):
            self.visit(item)
        if len(self._scopes) == 1 and node.name in self._defined:
            self.places.append((node.lineno - 1, node.col_offset + len("class "), node.name))
        self._inside(node, node.body)

    def _inside(self, node: ast.FunctionDef | ast.ClassDef, body: list[ast.stmt]) -> None:
        found = self._children.get((node.name, node.lineno)) or self._children.get(
            (node.name, min([node.lineno, *(item.lineno for item in node.decorator_list)]))
        )
        self._scopes.append(found[0] if found else self._scopes[-1])
        for item in body:
            self.visit(item)
        self._scopes.pop()

    def renamed(self, item: _Statement, source: str, names: dict[str, str]) -> str:
        """Return a statement's text with names replaced."""
        lines = [line.encode() for line in source.splitlines()]
        for line, column, name in sorted(self.places, reverse=True):
            if item.start <= line < item.end and names.get(name, name) != name:
                text = lines[line]
                end = column + len(name.encode())
                assert text[column:end] == name.encode(), (text, column, name)
                lines[line] = text[:column] + names[name].encode() + text[end:]
        return "\n".join(line.decode() for line in lines[item.start : item.end])
