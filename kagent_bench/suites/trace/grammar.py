"""The grammar of a traced call's arguments: ``((T([4, 3], f16), 1, [2, None]), {'alpha': 2})``. Nothing is evaluated.

What the files of BackendBench, tritonbench and PyTorch's own recorder hold is read: tensors ``T(shape, dtype)`` with
their strides as a third argument or by the name ``stride``, sparse ones ``ST(...)``, numbers, ``inf`` and ``nan``,
strings, torch's constants with and without ``torch.``, nested lists and tuples, and a comment at the end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from kagent_bench.model.call_text import DTYPE_ABBREVIATIONS
from kagent_bench.model.case import ITEM_BYTES, SymbolSpec
from kagent_bench.suites.trace.call import Arguments, SparseTensor, TracedTensor, TracedValue

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_DEPTH = 16
"""Brackets within brackets; real calls have five at most."""
MAX_DIGITS = 400
"""Letters of one number: the largest float needs 309 digits, and reading a longer one takes time."""
MAX_RANK = 64
"""Dimensions of a tensor: torch allows no more."""
MAX_ELEMENTS = 2**62
"""Elements of a tensor, so that sizes in bytes stay within 64 bits."""

LAYOUTS = frozenset(
    ["strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"]
)
MEMORY_FORMATS = frozenset(["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"])
ACCELERATORS = frozenset(["cuda", "hip", "hpu", "mps", "mtia", "npu", "xla", "xpu", "target"])
OTHER_DEVICES = frozenset(["cpu", "meta"])
_TENSOR = ("shape", "dtype", "stride", "device")
"""Arguments of ``T`` in their order."""
_DTYPES = {
    **{name: name for name in ITEM_BYTES},
    **{short: name for name, short in DTYPE_ABBREVIATIONS.items()},
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
_NUMBERS = {
    "inf": float("inf"),
    "nan": float("nan"),
    "infj": complex(0, float("inf")),
    "nanj": complex(0, float("nan")),
}
_CONSTANTS: dict[str, bool | None] = {"None": None, "True": True, "False": False}
_ESCAPES = {
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "0": "\0",
}
_CODES = {"x": 2, "u": 4, "U": 8}
"""Hexadecimal digits after an escape letter."""
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


class GrammarError(Exception):
    """A text that is no traced call; ``column`` counts from 1 in the text that was parsed."""

    def __init__(self, message: str, column: int) -> None:
        """Take what is wrong and where."""
        super().__init__(message)
        self.column = column


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
            return self._complex_or(_number(text, column))
        if kind == "name":
            return self._named(text, column)
        if kind == "string":
            return self._string(text, column)
        if text == "(":
            return self._tuple_or_complex(depth)
        if text == "[":
            return self._sequence("]", depth + 1)
        raise GrammarError(f"expected a value, not {_excerpt(text)}", column)

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
            imaginary = _signed_name(text) if token.lastgroup == "name" else _number(text, token.start() + 1)
            if isinstance(imaginary, complex):
                return complex(value, imaginary.imag)
            raise GrammarError(f"expected an imaginary part, not {_excerpt(text)}", token.start() + 1)
        return value

    def _named(self, text: str, column: int) -> TracedValue:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        number = _signed_name(text)
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
        raise GrammarError(f"unknown name {_excerpt(text)}", column)

    def _plain_tensor(self, token: re.Match[str], column: int) -> TracedTensor:
        try:
            return _written_tensor(token["shape"], token["dtype"], token["stride"])
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
        shape = _sizes(kwargs.get("shape", kwargs.get("size")), "shape", column)
        return _tensor(
            shape, dtype.name, None if stride is None else _sizes(stride, "stride", column), column
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
        shape = _sizes(named.get("shape"), "shape", column)
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
        return _sizes(args[0] if len(args) == 1 else None, "size", column)

    def _float(self, column: int) -> float:
        args, _ = self._call()
        number = _signed_name(args[0].strip()) if len(args) == 1 and isinstance(args[0], str) else None
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
        return body if "\\" not in body else _unescape(body, column)

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
        return _excerpt(self._texts[self._next]) if self._next < len(self._tokens) else "the end"

    def _error(self, message: str) -> GrammarError:
        return GrammarError(message, self._column())


def dtype_symbol(name: str) -> SymbolSpec | None:
    """Return a dtype by its short or long name, with ``torch.`` or without; None where there is no such dtype."""
    found = _DTYPES.get(name.removeprefix("torch.").removeprefix("th."))
    return None if found is None else SymbolSpec(kind="dtype", name=found)


def device_symbol(name: str) -> SymbolSpec:
    """Return a device by torch's name: an accelerator is the device under test, whatever its number.

    Raises:
        ValueError: there is no such device.
    """
    kind = name.partition(":")[0]
    if kind not in ACCELERATORS | OTHER_DEVICES:
        message = f"unknown device {_excerpt(name)}"
        raise ValueError(message)
    return SymbolSpec(kind="device", name="target" if kind in ACCELERATORS else kind)


@lru_cache(maxsize=1 << 14)
def _written_tensor(shape: str, dtype: str, stride: str | None) -> TracedTensor:
    """Return a tensor in its usual spelling, which a model's calls repeat."""
    return _tensor(_integers(shape, 1), dtype, None if stride is None else _integers(stride[1:-1], 1), 1)


def _tensor(shape: tuple[int, ...], dtype: str, stride: tuple[int, ...] | None, column: int) -> TracedTensor:
    if dtype not in _DTYPES:
        raise GrammarError(f"unknown dtype {_excerpt(dtype)}", column)
    if len(shape) > MAX_RANK:
        raise GrammarError(f"a tensor of {len(shape)} dimensions; torch allows {MAX_RANK}", column)
    if stride is not None and len(stride) != len(shape):
        raise GrammarError(f"{len(shape)} sizes but {len(stride)} strides", column)
    numel, reach = 1, 1
    for size, step in zip(shape, stride or shape, strict=True):
        numel *= size
        reach += size * step
    if numel > MAX_ELEMENTS or (stride is not None and reach > MAX_ELEMENTS):
        raise GrammarError("a tensor that no memory holds", column)
    return TracedTensor(shape, _DTYPES[dtype], stride)


def _sizes(value: TracedValue, what: str, column: int) -> tuple[int, ...]:
    sizes = value if isinstance(value, tuple) else (value,) if isinstance(value, int) else None
    if sizes is None or not all(
        isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in sizes
    ):
        raise GrammarError(f"a {what} is a list of whole numbers from 0", column)
    return sizes  # type: ignore[return-value]


def _integers(text: str, column: int) -> tuple[int, ...]:
    parts = text.replace(" ", "").split(",") if text.strip() else []
    if parts and not parts[-1]:
        parts.pop()
    if not all(part and len(part) <= MAX_DIGITS for part in parts):
        raise GrammarError("a list of whole numbers has an empty or endless element", column)
    return tuple(map(int, parts))


def _number(text: str, column: int) -> int | float | complex:
    if len(text) > MAX_DIGITS:
        raise GrammarError(f"a number of {len(text)} letters", column)
    if text[-1] == "j":
        return complex(0.0, float(text[:-1]))
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def _signed_name(text: str) -> float | complex | None:
    """Return ``inf`` or ``nan``, with ``torch.`` or ``math.`` or without, and with a sign or without."""
    sign = -1.0 if text[:1] == "-" else 1.0
    name = text.lstrip("+-").removeprefix("torch.").removeprefix("math.")
    number = _NUMBERS.get(name)
    if isinstance(number, complex):
        return complex(0.0, sign * number.imag)
    return None if number is None else sign * number


def _unescape(body: str, column: int) -> str:
    found: list[str] = []
    index = 0
    while index < len(body):
        letter = body[index]
        index += 1
        if letter != "\\":
            found.append(letter)
            continue
        escape = body[index]
        index += 1
        if escape in _CODES:
            digits = body[index : index + _CODES[escape]]
            index += len(digits)
            try:
                found.append(chr(int(digits, 16)))
            except ValueError:
                raise GrammarError(f"unknown escape \\{escape}{digits}", column) from None
        elif escape in _ESCAPES:
            found.append(_ESCAPES[escape])
        else:
            raise GrammarError(f"unknown escape \\{_excerpt(escape)}", column)
    return "".join(found)


def _excerpt(text: str) -> str:
    """Return a piece of a file for a message: short, and printable whatever it holds."""
    limit = 40
    return ascii(text[:limit]) + ("..." if len(text) > limit else "")
