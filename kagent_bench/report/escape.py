"""Makes foreign text harmless: what a kernel printed must not become markup, a formula or a terminal command."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, direction overrides, lone surrogates."""
_MARKDOWN = re.compile(r"[\\|`*_<>\[\]#~&]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that a spreadsheet takes for a formula."""
_BACKTICKS = re.compile(r"`+")
_SHORTEST_FENCE = 3


def printable(text: str) -> str:
    """Write control characters, which a terminal would obey, as escapes; tab and line feed stay."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def one_line(text: str) -> str:
    """Write text on one line."""
    return " ".join(printable(text).split())


def markdown_text(text: str) -> str:
    """Write text on one line so that Markdown shows it as it is, also in a table cell."""
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", one_line(text))


def markdown_code(text: str) -> str:
    """Write text as a code span, also in a table cell."""
    if "\\|" in text:  # Markdown dialects disagree on where such a cell ends
        return markdown_text(text)
    line = one_line(text).replace("|", "\\|")
    if not line:
        return ""
    longest = max((len(run) for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line}`"


def markdown_block(text: str, language: str = "text") -> list[str]:
    """Write text as the lines of a fenced block that the text cannot end."""
    body = printable(text).rstrip("\n")
    longest = max((len(run) for run in _BACKTICKS.findall(body)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return [f"{fence}{language}", *body.split("\n"), fence]


def csv_cell(value: object) -> str:
    """Write a cell: empty for None, numbers bare, text on one line and never as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    guard = "'" if text.startswith(_FORMULA) else ""
    return guard + one_line(text)
