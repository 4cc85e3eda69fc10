"""Results go to standard output, everything else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from kagent_bench.errors import UsageError

PIPE_CLOSED = 141
"""Exit code when the reader of our output has gone: what a shell shows for a program ended by SIGPIPE."""


def emit(text: str) -> None:
    """Write a result to standard output.

    Raises:
        typer.Exit: the reader has gone.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") or not text else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # what is buffered would raise again when the interpreter ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE_CLOSED) from None


def emit_json(value: dict[str, Any]) -> None:
    """Write a result as JSON to standard output."""
    import json

    emit(json.dumps(value, indent=2, allow_nan=False))


def say(text: str) -> None:
    """Write a message to standard error; a reader that has gone is no failure of ours."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def columns(rows: Sequence[tuple[str, ...]], *, indent: str = "  ") -> str:
    """Return rows as aligned plain text."""
    if not rows:
        return f"{indent}none"
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def deliver(text: str, output: Path | None) -> None:
    """Write a result to a file, or to standard output where there is none.

    Raises:
        UsageError: the file cannot be written.
        typer.Exit: the reader of standard output has gone.
    """
    if output is None:
        emit(text)
        return
    from kagent_bench.stores.atomic import write_text

    try:
        write_text(output, text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        message = f"cannot write the report to '{output}': {error.strerror}"
        raise UsageError(message, hint="name a file in an existing, writable folder with --output") from error
