"""The file form of one recorded dtype of a suite: a SQLite file, written once, read operator by operator."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from kagent_bench.errors import InputError
from kagent_bench.model.identity import decode_case, encode_case
from kagent_bench.model.names import OperatorName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kagent_bench.model.case import Case
    from kagent_bench.model.selection import OperatorCases

FORMAT = 1
"""Version of the tables below; part of the file name, so that an older reader never meets a newer file."""

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE operators (name TEXT PRIMARY KEY, kind TEXT NOT NULL, left_out TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (operator TEXT, rank INTEGER, body TEXT NOT NULL, sha256 TEXT NOT NULL,
                    PRIMARY KEY (operator, rank)) WITHOUT ROWID;
"""


def write_shard(
    path: Path,
    operators: Iterable[OperatorCases],
    left_out: Mapping[OperatorName, Mapping[str, int]],
    facts: Mapping[str, str],
) -> None:
    """Write a shard to a new file.

    Args:
        path: the file; it must not exist.
        operators: the operators with their cases, the most telling first.
        left_out: number of recorded calls that no case can hold, by operator and reason.
        facts: versions and notes.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(_TABLES)
        digest = hashlib.sha256()
        for item in operators:
            name = str(item.operator)
            counted = left_out.get(item.operator, {}) if isinstance(item.operator, OperatorName) else {}
            reasons = json.dumps(dict(counted), sort_keys=True)
            connection.execute("INSERT INTO operators VALUES (?, ?, ?)", (name, item.kind, reasons))
            digest.update(f"{name} {item.kind} {' '.join(case.id for case in item.cases)}\n".encode())
            bodies = (json.dumps(encode_case(case), separators=(",", ":")) for case in item.cases)
            connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?)",
                ((name, rank, body, _sha256(body)) for rank, body in enumerate(bodies)),
            )
        stored = {**facts, "sha256": digest.hexdigest()}
        connection.executemany("INSERT INTO facts VALUES (?, ?)", stored.items())


class Shard:
    """A shard file that is open for reading."""

    def __init__(self, path: Path) -> None:
        """Open a shard.

        Raises:
            InputError: the file is not a shard.
        """
        self._path = path
        try:
            self._connection = sqlite3.connect(
                f"file:{path}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            rows = self._connection.execute("SELECT name, kind FROM operators").fetchall()
            self.facts = dict(self._connection.execute("SELECT name, value FROM facts"))
        except sqlite3.Error as error:
            raise self._damaged(str(error)) from error
        self.kinds = {OperatorName.parse(name): kind for name, kind in rows}
        """Kind of every operator of the shard."""
        self.absent: dict[str, dict[str, int]] = json.loads(self.facts.get("absent", "{}"))
        """Operators that were called but have no case, with the number of calls by reason."""

    def cases(self, operator: OperatorName, limit: int) -> Iterator[Case]:
        """Yield the first ``limit`` cases of an operator, all with 0.

        Raises:
            InputError: a case was changed after it was written.
        """
        query = "SELECT body, sha256 FROM cases WHERE operator = ? ORDER BY rank LIMIT ?"
        for body, sha256 in self._connection.execute(query, (str(operator), limit or -1)):
            if _sha256(body) != sha256:
                why = f"a case of {operator} was changed"
                raise self._damaged(why)
            yield decode_case(json.loads(body))

    def left_out(self, operator: OperatorName) -> dict[str, int]:
        """Return how many recorded calls of an operator no case can hold, by reason."""
        query = "SELECT left_out FROM operators WHERE name = ?"
        row = self._connection.execute(query, (str(operator),)).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _damaged(self, why: str) -> InputError:
        message = f"the recorded suite {self._path} cannot be used: {why}"
        return InputError(message, hint="delete the file; it will be recorded again")


def _sha256(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
