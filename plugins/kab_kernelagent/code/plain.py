"""Brings a reply to plain text: without what terminals obey, aloud thinking, wrappers of JSON, and typographers' marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""What terminals obey: colours, cursor moves, titles."""
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Other control characters, halves of characters, what has no width, and marks that make a text look like another."""
_SPACES = re.compile("[\xa0\u2000-\u200a\u202f\u205f\u3000]")
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_END_OF_THINKING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_QUOTES = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2032": "'", "\u2033": '"'}
)
_JSON_BLOCK = re.compile(r"^```(?:json)?\n(.*)\n```$", re.DOTALL)
_MAX_DEPTH = 20


def plain(reply: str) -> str:
    """Return a reply as the text that its reader is meant to see."""
    text = reply.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = _SPACES.sub(" ", _CONTROL.sub("", _ESCAPE.sub("", text)))
    return _unwrapped(_said(text))


def straight(text: str) -> str:
    """Return a text with straight quotation marks."""
    return text.translate(_QUOTES)


def _said(text: str) -> str:
    """Leave out what a model wrote while it thought, unless it wrote nothing else."""
    if "</" not in text:
        return text
    said = _END_OF_THINKING.sub(
        "", _THINKING.sub("", text)
    )  # some servers leave out where the thinking begins
    return said if said.strip() else text


def _unwrapped(text: str) -> str:
    """Return the texts in a reply that is JSON as a whole, those that look like code or have blocks of it."""
    bare = text.strip()
    block = _JSON_BLOCK.match(bare)
    bare = block[1].strip() if block else bare
    if not bare.startswith(("{", "[")):
        return text
    try:
        found = [item for item in _texts(json.loads(bare), _MAX_DEPTH) if "def " in item or "```" in item]
    except (ValueError, RecursionError):
        return text
    parts = [item if "```" in item else f"```python\n{item}\n```" for item in found]
    return "\n\n".join(parts) or text


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth - 1)
