"""Applies a model's edits to its former kernel: unified diffs and search/replace blocks, by content alone.

Line numbers and file names in a model's diff are mostly wrong, so neither is read: a hunk goes where its lines are.
"""

from __future__ import annotations

import re

_HUNK = re.compile(r"^@@.*@@", re.MULTILINE)
_SEARCH = re.compile(r"^<{5,} ?SEARCH\n(.*?)^={5,}\n(.*?)^>{5,} ?REPLACE", re.MULTILINE | re.DOTALL)


def looks_like_patch(text: str) -> bool:
    """Return whether a text is an edit rather than a file."""
    return bool(_HUNK.search(text)) or "<<<<<<< SEARCH" in text


def apply_patch(former: str, patch: str) -> str | None:
    """Return the edited text, or None where an edit does not fit the former text.

    Args:
        former: The text that the edit is for.
        patch: The edit.
    """
    lines = former.split("\n")
    for old, new in _edits(patch):
        place = _find(lines, old)
        if place is None:
            return None
        lines[place : place + len(old)] = new
    edited = "\n".join(lines)
    return edited if edited != former else None


def _edits(patch: str) -> list[tuple[list[str], list[str]]]:
    replaced = _SEARCH.findall(patch)
    if replaced:
        return [(old.rstrip("\n").split("\n"), new.rstrip("\n").split("\n")) for old, new in replaced]
    edits: list[tuple[list[str], list[str]]] = []
    for line in patch.split("\n"):
        if _HUNK.match(line):
            edits.append(([], []))
        elif edits and line[:1] in {"+", "-", " ", ""} and not line.startswith(("+++ ", "--- ")):
            old, new = edits[-1]
            if line[:1] != "+":
                old.append(line[1:])
            if line[:1] != "-":
                new.append(line[1:])
    return [(_trimmed(old), _trimmed(new)) for old, new in edits if old != new]


def _trimmed(lines: list[str]) -> list[str]:
    """Drop blank lines at the end: they stand for the end of the reply, not of the file."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def _find(lines: list[str], wanted: list[str]) -> int | None:
    """Return where the wanted lines stand, trailing blanks apart; None where they do not, or there are none."""
    if not wanted:
        return None
    bare, target = [line.rstrip() for line in lines], [line.rstrip() for line in wanted]
    for place in range(len(bare) - len(target) + 1):
        if bare[place : place + len(target)] == target:
            return place
    return None
