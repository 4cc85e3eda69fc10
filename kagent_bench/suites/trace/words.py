"""What the words of a traced call mean: dtypes, devices, tensors in their usual spelling, numbers and strings."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from kagent_bench.model.call_text import DTYPE_ABBREVIATIONS
from kagent_bench.model.case import ITEM_BYTES, SymbolSpec
from kagent_bench.suites.trace.call import TracedTensor

if TYPE_CHECKING:
    from kagent_bench.suites.trace.call import TracedValue

MAX_DIGITS = 400
"""Letters of one number: the largest float needs 309 digits, and reading a longer one takes time."""
MAX_RANK = 64
"""Dimensions of a tensor: torch allows no more."""
MAX_ELEMENTS = 2**62
"""Elements of a tensor, so that sizes in bytes stay within 64 bits."""

ACCELERATORS = frozenset(["cuda", "hip", "hpu", "mps", "mtia", "npu", "xla", "xpu", "target"])
OTHER_DEVICES = frozenset(["cpu", "meta"])
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


class GrammarError(Exception):
    """A text that is no traced call; ``column`` counts from 1 in the text that was parsed."""

    def __init__(self, message: str, column: int) -> None:
        """Take what is wrong and where."""
        super().__init__(message)
        self.column = column


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
        message = f"unknown device {excerpt(name)}"
        raise ValueError(message)
    return SymbolSpec(kind="device", name="target" if kind in ACCELERATORS else kind)


@lru_cache(maxsize=1 << 14)
def written_tensor(shape: str, dtype: str, stride: str | None) -> TracedTensor:
    """Return a tensor in its usual spelling, which a model's calls repeat."""
    return checked_tensor(
        _integers(shape, 1), dtype, None if stride is None else _integers(stride[1:-1], 1), 1
    )


def checked_tensor(
    shape: tuple[int, ...], dtype: str, stride: tuple[int, ...] | None, column: int
) -> TracedTensor:
    """Return a tensor that torch could have.

    Raises:
        GrammarError: there is none; it is at ``column``.
    """
    if dtype not in _DTYPES:
        raise GrammarError(f"unknown dtype {excerpt(dtype)}", column)
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


def read_sizes(value: TracedValue, what: str, column: int) -> tuple[int, ...]:
    """Return a list of sizes, or a single one; ``what`` is said of it.

    Raises:
        GrammarError: it is something else.
    """
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


def read_number(text: str, column: int) -> int | float | complex:
    """Return a number without a name.

    Raises:
        GrammarError: it is endless.
    """
    if len(text) > MAX_DIGITS:
        raise GrammarError(f"a number of {len(text)} letters", column)
    if text[-1] == "j":
        return complex(0.0, float(text[:-1]))
    return int(text) if text.lstrip("+-").isdecimal() else float(text)


def signed_name(text: str) -> float | complex | None:
    """Return ``inf`` or ``nan``, with ``torch.`` or ``math.`` or without, and with a sign or without."""
    sign = -1.0 if text[:1] == "-" else 1.0
    name = text.lstrip("+-").removeprefix("torch.").removeprefix("math.")
    number = _NUMBERS.get(name)
    if isinstance(number, complex):
        return complex(0.0, sign * number.imag)
    return None if number is None else sign * number


def unescape(body: str, column: int) -> str:
    """Return a string's text from what stands between its quotes.

    Raises:
        GrammarError: an escape is unknown.
    """
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
            raise GrammarError(f"unknown escape \\{excerpt(escape)}", column)
    return "".join(found)


def excerpt(text: str) -> str:
    """Return a piece of a file for a message: short, and printable whatever it holds."""
    limit = 40
    return ascii(text[:limit]) + ("..." if len(text) > limit else "")
