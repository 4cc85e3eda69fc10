"""The library of functions that generated files carry: read from ``texts/``, chosen by what a file calls."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

DEVICE_TEXTS = (
    "device_memory.py.txt",
    "device_math.py.txt",
    "device_rows.py.txt",
    "device_products.py.txt",
    "device_copies.py.txt",
    "device_indexing.py.txt",
)
"""Functions that run inside a kernel."""
HOST_TEXTS = (
    "host.py.txt",
    "host_rows.py.txt",
    "host_products.py.txt",
    "host_copies.py.txt",
    "host_indexing.py.txt",
)
"""Functions that allocate and launch."""

_FUNCTION = re.compile(r"^(?:@triton\.jit\n)?def (\w+)\(", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])([a-z_]\w*)\b")


@cache
def functions(texts: tuple[str, ...]) -> dict[str, str]:
    """Return name -> source of every function of some texts, in the order in which they stand there."""
    found: dict[str, str] = {}
    folder = resources.files("kab_baseline") / "texts"
    for name in texts:
        text = (folder / name).read_text(encoding="utf-8")
        starts = [match.start() for match in _FUNCTION.finditer(text)]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=False):
            source = text[start:end].strip()
            match = _FUNCTION.match(source)
            if match is not None:
                found[match.group(1)] = source
    return found


def used_by(text: str, texts: tuple[str, ...]) -> list[str]:
    """Return the sources of the library functions that a text names, with all that those name in turn."""
    library = functions(texts)
    wanted: set[str] = set()
    pending = [text]
    while pending:
        for word in _WORD.findall(pending.pop()):
            if word in library and word not in wanted:
                wanted.add(word)
                pending.append(library[word])
    return [source for name, source in library.items() if name in wanted]


def kernels_used_by(text: str, texts: tuple[str, ...]) -> list[str]:
    """Return the sources of the library kernels that a text launches through the host functions it calls."""
    everything = "\n".join([text, *used_by(text, texts)])
    launched = set(re.findall(r"\b(\w+_kernel)\[", everything))
    return [source for name, source in functions(DEVICE_TEXTS).items() if name in launched]
