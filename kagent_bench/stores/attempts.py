"""The attempts of one operator: every kernel that was judged on the way, with what the evaluator said."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kagent_bench.hooks.protocols import Attempt
from kagent_bench.model.identity import source_digest
from kagent_bench.stores.atomic import write_json, write_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = "attempts"
"""Subfolder of an operator folder; BackendBench does not look into it."""
SCHEMA_VERSION = 1
_NUMBERED = re.compile(r"(\d{3,})\.(?:py|json)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt:
    """One attempt on disk."""

    number: int
    """From 1, over all generations of this operator."""
    path: Path
    """The source file."""
    attempt: Attempt
    origin: Mapping[str, str]
    """Who made it: ``generator``, ``generator_version``, ``problem_sha256``, ``created``."""


def add_attempt(folder: Path, attempt: Attempt, origin: Mapping[str, str]) -> StoredAttempt:
    """Store an attempt under the next free number.

    Args:
        folder: The operator's folder; must exist.
        attempt: What was judged.
        origin: Words for the record, such as ``generator`` and ``created``.

    Raises:
        OSError: the folder cannot be written.
    """
    attempts = folder / FOLDER
    attempts.mkdir(exist_ok=True)
    number = 1 + max(_numbers(attempts), default=0)
    path = attempts / f"{number:03}.py"
    write_text(path, attempt.source)
    record = {
        "schema_version": SCHEMA_VERSION,
        "sha256": source_digest(attempt.source.encode()),
        "verdict": attempt.verdict,
        "feedback": attempt.feedback,
        "origin": dict(origin),
    }
    write_json(path.with_suffix(".json"), record)
    return StoredAttempt(number=number, path=path, attempt=attempt, origin=dict(origin))


def read_attempts(folder: Path) -> tuple[StoredAttempt, ...]:
    """Return the attempts of an operator folder, oldest first; half-written and foreign files are left out."""
    attempts = folder / FOLDER
    if not attempts.is_dir():
        return ()
    found = []
    for number in sorted(set(_numbers(attempts))):
        path = attempts / f"{number:03}.py"
        try:
            source = path.read_bytes().decode()
            record = json.loads(path.with_suffix(".json").read_bytes())
            if record["schema_version"] != SCHEMA_VERSION:
                continue
            attempt = Attempt(source=source, verdict=record["verdict"], feedback=record["feedback"])
            found.append(
                StoredAttempt(number=number, path=path, attempt=attempt, origin=dict(record["origin"]))
            )
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def _numbers(attempts: Path) -> list[int]:
    return [int(match[1]) for entry in attempts.iterdir() if (match := _NUMBERED.fullmatch(entry.name))]
