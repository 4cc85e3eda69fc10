"""Parses Python texts of strangers: one kind of failure, and safe for several threads."""

from __future__ import annotations

import ast
import threading
import warnings

_ONE_AT_A_TIME = threading.Lock()
"""CPython up to 3.11.8 and 3.12.2 counts the depth of the trees that it builds over all threads together, and raises
SystemError where two parse at the same time (python/cpython#106905). Filters of warnings are shared as well."""


def parse_python(text: str | bytes) -> ast.Module:
    """Return the syntax tree of a text.

    Raises:
        SyntaxError: Python cannot read the text, for whatever reason: null bytes, too deeply nested, not UTF-8.
    """
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape in a stranger's string is its own affair
        try:
            return ast.parse(text)
        except (ValueError, RecursionError, MemoryError) as error:
            raise SyntaxError(str(error) or "too deeply nested") from error
