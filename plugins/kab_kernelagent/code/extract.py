"""Finds the kernel in a reply: several blocks, prose, diffs, code without fences, answers that were cut off."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from kab_kernelagent.code.fences import Block, find_blocks, spans
from kab_kernelagent.code.names import UPSTREAM_NAME, export_as, exports, with_imports
from kab_kernelagent.code.patch import apply_patch, looks_like_patch
from kab_kernelagent.code.plain import plain, straight
from kagent_bench.model.python_text import parse_python

_MODULE_CLASS = "ModelNew"
"""KernelBench's name for a module's replacement."""
MAX_SOURCE_CHARS = 200_000
"""Characters of the largest kernel file that is judged; a larger one is no kernel but a flood."""
_MAX_TRIES = 40
"""Cuts that are tried to free code from the prose after it."""
_PYTHON = frozenset({"", "python", "py", "python3", "triton", "python-triton"})
_PATCH = frozenset({"diff", "patch", "udiff"})
_CODE_LINE = re.compile(r"(import |from \S+ import |@|def |class |\"\"\"|'''|#!|# -\*-)")


class Lack(str, Enum):
    """Why there is no kernel in a reply."""

    EMPTY = "empty"
    NO_CODE = "no_code"
    TRUNCATED = "truncated"
    """The code ends in the middle."""
    NOT_PYTHON = "not_python"
    """There is code, but Python cannot read it: the author is told where."""
    NO_ENTRY = "no_entry"
    """There is code, but not the function that the file must export."""
    TOO_LONG = "too_long"
    BAD_PATCH = "bad_patch"
    """An edit that does not fit the former kernel."""

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found in a reply: a source, or what is lacking."""

    source: str | None
    lack: Lack | None = None
    detail: str = ""
    """What is wrong, in words that its author can act on."""


def extract(reply: str, wanted: str, *, former: str | None = None, cut_off: bool = False) -> Extracted:
    """Return the kernel of a reply.

    Args:
        reply: The model's text.
        wanted: The function that the file must export; ``kernel_function`` is renamed to it.
        former: The kernel that the reply may be an edit of.
        cut_off: Whether the provider says that the reply reached its limit.
    """
    text = plain(reply)
    if not text.strip():
        return Extracted(source=None, lack=Lack.EMPTY, detail="The reply was empty.")
    blocks = find_blocks(text)
    edited = _edited(blocks, former)
    if edited is not None:
        return edited
    cut_off = cut_off or any(not block.closed for block in blocks)
    sources = _candidates(blocks, text)
    if not sources:
        detail = "There was no Python code in the reply."
        return Extracted(source=None, lack=Lack.TRUNCATED if cut_off else Lack.NO_CODE, detail=detail)
    sources = [source for source in sources if len(source) <= MAX_SOURCE_CHARS]
    if not sources:
        detail = f"The code is too long: at most {MAX_SOURCE_CHARS} characters are read."
        return Extracted(source=None, lack=Lack.TOO_LONG, detail=detail)
    readable = [source for source in _repaired(sources, text) if _error(source) is None]
    if not readable:
        return _unreadable(max(sources, key=len), cut_off=cut_off)
    return _finished(max(readable, key=lambda source: _worth(source, wanted)), wanted, cut_off=cut_off)


def _candidates(blocks: list[Block], text: str) -> list[str]:
    """Return the texts that may be the kernel file, the likeliest first: later ones, then all of them together."""
    found = [block.text for block in blocks if block.language in _PYTHON and block.text.strip()]
    if not found:
        bare = _outside_fences(text) if not blocks else None
        return [bare] if bare else []
    parts = [part for part in found if _error(part) is None]
    joined = ["\n\n".join(parts)] if len(parts) > 1 else []
    return [*reversed(found), *joined]


def _repaired(sources: list[str], text: str) -> list[str]:
    """Return the texts and, where Python can read none, what their authors may have meant by them."""
    if any(_error(source) is None for source in sources):
        return sources
    # A fence in a docstring ends the block for whoever reads Markdown.
    whole = [text[first.end() : last.start()] for first, last in spans(text)]
    return [straight(source) for source in (*sources, *whole) if len(source) <= MAX_SOURCE_CHARS]


def _worth(source: str, wanted: str) -> tuple[int, int, int]:
    """Rank a readable text: whole files before parts, with a Triton kernel before without, single before joined."""
    entry = _has_entry(source, wanted) or exports(source, UPSTREAM_NAME)
    kernel = "triton.jit" in source or "@jit" in source
    return int(entry and kernel), int(entry), int(kernel)


def _edited(blocks: list[Block], former: str | None) -> Extracted | None:
    patches = [block.text for block in blocks if block.language in _PATCH or looks_like_patch(block.text)]
    if not patches or any(block.language in _PYTHON and _error(block.text) is None for block in blocks):
        return None
    if former is None:
        detail = "The reply was an edit, but there is no kernel to edit yet."
        return Extracted(source=None, lack=Lack.BAD_PATCH, detail=detail)
    text: str | None = former
    for patch in patches:
        text = None if text is None else apply_patch(text, patch)
    if text is None or _error(text) is not None:
        detail = "The edit does not fit the former kernel."
        return Extracted(source=None, lack=Lack.BAD_PATCH, detail=detail)
    return Extracted(source=with_imports(text))


def _outside_fences(text: str) -> str | None:
    """Return the longest readable code of a text without fences, from its first line that looks like code."""
    lines = text.split("\n")
    start = next((place for place, line in enumerate(lines) if _CODE_LINE.match(line)), None)
    if start is None:
        return None
    lines = lines[start:]
    if not any(line.startswith(("def ", "@", "class ")) for line in lines):
        return None
    end = len(lines)
    for _ in range(_MAX_TRIES):
        source = "\n".join(lines[:end])
        error = _error(source)
        if error is None:
            return source
        cut = min((error.lineno or end) - 1, end - 1)
        if cut <= 0:
            break
        end = cut
    return "\n".join(lines)


def _unreadable(source: str, *, cut_off: bool) -> Extracted:
    error = _error(source)
    where = f"line {error.lineno}: {error.msg}" if error is not None else ""
    if cut_off:
        detail = f"The code ends in the middle ({where})."
        return Extracted(source=None, lack=Lack.TRUNCATED, detail=detail)
    shown = (error.text or "").rstrip() if error is not None else ""
    detail = f"Python cannot read the code, {where}" + (f"\n\n    {shown}" if shown else "")
    return Extracted(source=None, lack=Lack.NOT_PYTHON, detail=detail)


def _finished(source: str, wanted: str, *, cut_off: bool) -> Extracted:
    named = export_as(source, wanted)
    if not _has_entry(named, wanted) and cut_off:
        detail = f"The code ends before the function `{wanted}`."
        return Extracted(source=None, lack=Lack.TRUNCATED, detail=detail)
    if not _has_entry(named, wanted):
        detail = f"The code has no function `{wanted}`."
        return Extracted(source=None, lack=Lack.NO_ENTRY, detail=detail)
    return Extracted(source=with_imports(named).strip("\n") + "\n")


def _has_entry(source: str, wanted: str) -> bool:
    """Return whether the file exports what is called; a module's may be a class ``ModelNew`` as well."""
    return exports(source, wanted) or (wanted == UPSTREAM_NAME and exports(source, _MODULE_CLASS))


def _error(source: str) -> SyntaxError | None:
    try:
        parse_python(source)
    except SyntaxError as error:
        return error
    return None
