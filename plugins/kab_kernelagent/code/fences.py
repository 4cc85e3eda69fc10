"""Finds the fenced blocks of a Markdown text, line by line, in linear time."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"^(?P<indent> {0,12}(?:(?:[-*+]|\d{1,3}[.)]) +)?)(?P<mark>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*)$",
    re.MULTILINE,
)
_LANGUAGE = re.compile(r"[{.]*([\w+#-]*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block."""

    language: str
    """First word after the fence, lower case; empty where there is none."""
    text: str
    closed: bool
    """False where the text ends before the fence does: the reply was cut off, or its author forgot."""


def find_blocks(text: str) -> list[Block]:
    """Return the fenced blocks in their order."""
    blocks: list[Block] = []
    lines: list[str] = []
    opened: re.Match[str] | None = None
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if opened is None:
            if match:
                opened, lines = match, []
        elif match and match["mark"].startswith(opened["mark"]) and not match["info"].strip():
            blocks.append(_block(opened, lines, closed=True))
            opened = None
        else:
            lines.append(line)
    if opened is not None:
        blocks.append(_block(opened, lines, closed=False))
    return blocks


def spans(text: str) -> list[tuple[re.Match[str], re.Match[str]]]:
    """Return the first and the last fence of a text, or nothing where there are not two."""
    marks = list(_FENCE.finditer(text))
    return [(marks[0], marks[-1])] if len(marks) > 1 else []


def _block(opened: re.Match[str], lines: list[str], *, closed: bool) -> Block:
    indent = len(opened["indent"])
    kept = [line[indent:] if not line[:indent].strip() else line for line in lines]
    language = _LANGUAGE.match(opened["info"])
    return Block(language=language[1].lower() if language else "", text="\n".join(kept), closed=closed)
