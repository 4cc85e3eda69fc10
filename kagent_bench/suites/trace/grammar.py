"""The grammar of a traced call's arguments: ``((T([4, 3], f16), 1, [2, None]), {'alpha': 2})``. Nothing is evaluated.

What the files of BackendBench, tritonbench and PyTorch's own recorder hold is read: tensors ``T(shape, dtype)`` with
their strides as a third argument or by the name ``stride``, sparse ones ``ST(...)``, numbers, ``inf`` and ``nan``,
strings, torch's constants with and without ``torch.``, nested lists and tuples, and a comment at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kagent_bench.model.case import SymbolSpec
from kagent_bench.suites.trace.call import Arguments, SparseTensor, TracedTensor, TracedValue
from kagent_bench.suites.trace.words import (
    GrammarError,
    checked_tensor,
    device_symbol,
    dtype_symbol,
    excerpt,
    read_number,
    read_sizes,
    signed_name,
    unescape,
    written_tensor,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 16
"""Brackets within brackets; real calls have five at most."""
LAYOUTS = frozenset(
    ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]
)
MEMORY_FORMATS = frozenset(["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"])
_TENSOR = ("shape", "dtype", "stride", "device")
"""Arguments of ``T`` in their order."""
_CONSTANTS: dict[str, bool | None] = {"None": None, "True": True, "False": False}
_END = ""
"""Stands behind the last token, and is no token's text."""

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
    | (?P<tensor>T\(\[(?P<shape>[0-9, ]*)\],\ ?(?P<dtype>[a-z0-9]+)
        (?:,\ ?(?:stride=)?(?P<stride>\([0-9, ]*\)|\[[0-9, ]*\]))?\))
    | (?P<punctuation>[()\[\]{},:=])
    | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?j?)
    | (?P<name>[-+]?[A-Za-z_][A-Za-z0-9_.]*)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<comment>\#.*)
    | (?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


def parse_arguments(text: str) -> tuple[Arguments, str]:
    """Return the arguments that a text stands for, and the comment behind them without its ``#``.

    Raises:
        GrammarError: the text is something else.
    """
    return _Parser(text).arguments()


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[re.Match[str]] = []
        for token in _TOKEN.finditer(text):
            if token.lastgroup != "space":
                self._tokens.append(token)
            if token.lastgroup == "bad":
                break  # what follows is not read: an open quote would be searched to the end again and again
        self._texts = [token.group() for token in self._tokens]
        self._texts.append(_END)
        self._next = 0
        self._end = len(text) + 1

    # --- the whole ------------------------------------------------------------------------------------------

    def arguments(self) -> tuple[Arguments, str]:
        self._expect("(")
        self._expect("(")
        args = self._sequence(")", 1)
        kwargs: tuple[tuple[str, TracedValue], ...] = ()
        if self._accept(",") and not self._at(")"):
            self._expect("{")
            kwargs = self._mapping()
            self._accept(",")
        self._expect(")")
        comment = ""
        if self._kind() == "comment":
            comment = self._take().group()[1:].strip()
        if self._next < len(self._tokens):
            raise self._error(f"{self._shown()} after the end of the call")
        return Arguments(args, kwargs), comment

    def _mapping(self) -> tuple[tuple[str, TracedValue], ...]:
        found: dict[str, TracedValue] = {}
        while not self._accept("}"):
            start = self._column()
            if self._kind() != "string":
                raise self._error(f"expected a name in quotes, not {self._shown()}")
            name = self._string(self._take().group(), start)
            if not name.isidentifier() or name in found:
                raise GrammarError(
                    f"argument name {name[:40]!r} is {'given twice' if name in found else 'no name'}", start
                )
            self._expect(":")
            found[name] = self._value(1)
            if not self._at("}"):
                self._expect(",")
        return tuple(found.items())

    def _sequence(self, closing: str, depth: int) -> tuple[TracedValue, ...]:
        found: list[TracedValue] = []
        while not self._accept(closing):
            found.append(self._value(depth))
            if not self._at(closing):
                self._expect(",")
        return tuple(found)

    # --- one value ------------------------------------------------------------------------------------------

    def _value(self, depth: int) -> TracedValue:
        if depth > MAX_DEPTH:
            raise self._error(f"brackets are nested more than {MAX_DEPTH} deep")
        kind = self._kind()
        column = self._column()
        token = self._take()
        text = token.group()
        if kind == "tensor":
            return self._plain_tensor(token, column)
        if kind == "number":
            return self._complex_or(read_number(text, column))
        if kind == "name":
            return self._named(text, column)
        if kind == "string":
            return self._string(text, column)
        if text == "(":
            return self._tuple_or_complex(depth)
        if text == "[":
            return self._sequence("]", depth + 1)
        raise GrammarError(f"expected a value, not {excerpt(text)}", column)

    def _tuple_or_complex(self, depth: int) -> TracedValue:
        found: list[TracedValue] = []
        while not self._accept(")"):
            found.append(self._value(depth + 1))
            if self._at(")") and len(found) == 1 and isinstance(found[0], complex):
                self._take()
                return found[0]
            if not self._at(")"):
                self._expect(",")
        return tuple(found)

    def _complex_or(self, value: complex) -> TracedValue:
        """Return a number, with the imaginary part that follows it without a comma, as in ``1.5-2j``."""
        text = self._texts[self._next]
        if not isinstance(value, complex) and text[:1] in {"+", "-"} and text[-1] == "j":
            token = self._take()
            imaginary = (
                signed_name(text) if token.lastgroup == "name" else read_number(text, token.start() + 1)
            )
            if isinstance(imaginary, complex):
                return complex(value, imaginary.imag)
            raise GrammarError(f"expected an imaginary part, not {excerpt(text)}", token.start() + 1)
        return value

    def _named(self, text: str, column: int) -> TracedValue:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        number = signed_name(text)
        if number is not None:
            return self._complex_or(number)
        name = text.removeprefix("torch.").removeprefix("th.")
        calls: dict[str, Callable[[int], TracedValue]] = {
            "T": self._tensor,
            "ST": self._sparse,
            "device": self._device,
            "float": self._float,
            "Size": self._size,
        }
        if name in calls and self._at("("):
            self._take()
            return calls[name](column)
        if dtype := dtype_symbol(text):
            return dtype
        if name in LAYOUTS:
            return SymbolSpec(kind="layout", name=name)
        if name in MEMORY_FORMATS:
            return SymbolSpec(kind="memory_format", name=name)
        raise GrammarError(f"unknown name {excerpt(text)}", column)

    def _plain_tensor(self, token: re.Match[str], column: int) -> TracedTensor:
        try:
            return written_tensor(token["shape"], token["dtype"], token["stride"])
        except GrammarError as error:
            raise GrammarError(str(error), column) from None

    def _tensor(self, column: int) -> TracedTensor:
        args, kwargs = self._call()
        for name, value in zip(_TENSOR, args, strict=False):
            kwargs.setdefault(name, value)
        unknown = set(kwargs) - {*_TENSOR, "size"}
        if unknown or len(args) > len(_TENSOR):
            raise GrammarError(
                f"a tensor has a shape, a dtype, a stride and a device, not {len(args)} arguments {sorted(unknown)}",
                column,
            )
        dtype = kwargs.get("dtype")
        if isinstance(dtype, str):
            dtype = dtype_symbol(dtype)
        if not isinstance(dtype, SymbolSpec) or dtype.kind != "dtype":
            raise GrammarError("a tensor needs a dtype", column)
        stride = kwargs.get("stride")
        shape = read_sizes(kwargs.get("shape", kwargs.get("size")), "shape", column)
        return checked_tensor(
            shape, dtype.name, None if stride is None else read_sizes(stride, "stride", column), column
        )

    def _sparse(self, column: int) -> SparseTensor:
        args, kwargs = self._call()
        named = dict(zip(("shape", "dtype", "layout", "coalesced", "nnz"), args, strict=False))
        if "is_coalesced" in kwargs:
            named["coalesced"] = kwargs.pop("is_coalesced")
        named |= kwargs
        dtype, layout = named.get("dtype"), named.get("layout")
        coalesced, nnz = named.get("coalesced"), named.get("nnz")
        if (
            not isinstance(dtype, SymbolSpec)
            or dtype.kind != "dtype"
            or not isinstance(layout, SymbolSpec)
            or layout.kind != "layout"
            or not isinstance(coalesced, bool | None)
            or not isinstance(nnz, int | None)
        ):
            raise GrammarError("a sparse tensor is ST(shape, dtype, layout, is_coalesced, nnz)", column)
        shape = read_sizes(named.get("shape"), "shape", column)
        return SparseTensor(shape, dtype.name, layout.name, coalesced, nnz)

    def _device(self, column: int) -> SymbolSpec:
        args, kwargs = self._call()
        name = args[0] if args else kwargs.get("type")
        if not isinstance(name, str):
            raise GrammarError("a device has a name", column)
        try:
            return device_symbol(name)
        except ValueError as error:
            raise GrammarError(str(error), column) from None

    def _size(self, column: int) -> tuple[int, ...]:
        args, _ = self._call()
        return read_sizes(args[0] if len(args) == 1 else None, "size", column)

    def _float(self, column: int) -> float:
        args, _ = self._call()
        number = signed_name(args[0].strip()) if len(args) == 1 and isinstance(args[0], str) else None
        if not isinstance(number, float):
            raise GrammarError("float(...) stands for 'inf', '-inf' or 'nan' only", column)
        return number

    def _call(self) -> tuple[tuple[TracedValue, ...], dict[str, TracedValue]]:
        """Return what stands between the brackets of ``T(...)`` and its like."""
        args: list[TracedValue] = []
        kwargs: dict[str, TracedValue] = {}
        while not self._accept(")"):
            if self._texts[self._next + 1 : self._next + 2] == ["="]:
                name = self._take().group()
                self._take()
                kwargs[name] = self._value(MAX_DEPTH - 1)
            else:
                args.append(self._value(MAX_DEPTH - 1))
            if not self._at(")"):
                self._expect(",")
        return tuple(args), kwargs

    def _string(self, text: str, column: int) -> str:
        body = text[1:-1]
        return body if "\\" not in body else unescape(body, column)

    # --- tokens ---------------------------------------------------------------------------------------------

    def _kind(self) -> str:
        return self._tokens[self._next].lastgroup or "" if self._next < len(self._tokens) else "end"

    def _column(self) -> int:
        return self._tokens[self._next].start() + 1 if self._next < len(self._tokens) else self._end

    def _take(self) -> re.Match[str]:
        if self._next >= len(self._tokens):
            raise self._error("the call ends too early")
        self._next += 1
        return self._tokens[self._next - 1]

    def _at(self, text: str) -> bool:
        return self._texts[self._next] == text

    def _accept(self, text: str) -> bool:
        if self._texts[self._next] != text:
            return False
        self._next += 1
        return True

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._error(f"expected '{text}', not {self._shown()}")

    def _shown(self) -> str:
        return excerpt(self._texts[self._next]) if self._next < len(self._tokens) else "the end"

    def _error(self, message: str) -> GrammarError:
        return GrammarError(message, self._column())
