"""A run of the agent on disk: ``agent_logs/run_<timestamp>/``, one folder per operator, one per dialogue.

Everything is written the moment it is known, so that a run that was killed is gone on with: a stored reply is not
paid for again, a finished operator is not worked on again.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import InputError, UsageError
from kagent_bench.model.identity import digest
from kagent_bench.stores.atomic import file_lock, is_locked, write_json, write_text
from kagent_bench.stores.paths import new_run_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kagent_bench.model.names import ProblemName

SCHEMA_VERSION = 1
RUN_NAME, LOCK_NAME, LEDGER_NAME, SECRET_NAME = "run.json", ".lock", "ledger.jsonl", "judge_seed"
OUTCOME_NAME, STEPS_NAME = "outcome.json", "steps.jsonl"
RUNNING, FINISHED = "running", "finished"
_SEED_BYTES = 32
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an exchange belongs."""

    folder: str
    """The operator's folder name."""
    dialogue: int
    """From 1."""
    number: int
    """Of the exchange in its dialogue, from 1."""

    def __str__(self) -> str:
        """Return the place as the ledger names it."""
        return f"{self.folder}/{self.dialogue}/{self.number}"


class RunStore:
    """One run's folder, locked against other processes while it is open. Safe for several threads."""

    def __init__(self, path: Path, facts: Mapping[str, Any], redact: Callable[[str], str]) -> None:
        """Take a folder that exists; use ``create``, ``resume`` or ``read``."""
        self.path = path
        self.facts = dict(facts)
        self._redact = redact
        self._lock = threading.Lock()
        self._exit = contextlib.ExitStack()

    @classmethod
    def create(
        cls, root: Path, suffix: str, facts: Mapping[str, Any], redact: Callable[[str], str]
    ) -> RunStore:
        """Make the folder of a new run.

        Raises:
            InputError: the folder cannot be made.
        """
        path = new_run_dir(root, suffix)
        store = cls(
            path, {"schema_version": SCHEMA_VERSION, "state": RUNNING, "created": _now(), **facts}, redact
        )
        store._take_lock()
        store.write_facts()
        return store

    @classmethod
    def resume(cls, root: Path, fingerprint: str, redact: Callable[[str], str]) -> RunStore | None:
        """Open the newest unfinished run of the same work that no process is using; None if there is none."""
        runs = sorted(root.glob(f"run_*/{RUN_NAME}"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for file in runs:
            try:
                facts = _read_facts(file.parent)
            except InputError:
                continue  # of another version, or broken: nothing to go on with
            same = facts.get("fingerprint") == fingerprint and facts.get("state") == RUNNING
            if same and not is_locked(file.parent / LOCK_NAME):
                store = cls(file.parent, facts, redact)
                with contextlib.suppress(UsageError):
                    store._take_lock()
                    return store
        return None

    @classmethod
    def read(cls, path: Path, redact: Callable[[str], str]) -> RunStore:
        """Open a run to be repeated; nothing will be written to it.

        Raises:
            InputError: the folder is not a run of the agent.
        """
        return cls(path, _read_facts(path), redact)

    def close(self) -> None:
        """Let others have the run."""
        self._exit.close()

    def remove(self) -> None:
        """Take a run away in which nothing was done."""
        shutil.rmtree(self.path, ignore_errors=True)

    def write_facts(self, **facts: Any) -> None:
        """Store what the run is about."""
        self.facts.update(facts)
        write_json(self.path / RUN_NAME, self.facts)

    def seed(self) -> bytes:
        """Return the judge's seed, drawn once per run; readable by the user alone."""
        path = self.path / SECRET_NAME
        if not path.exists():
            self.write_seed(secrets.token_bytes(_SEED_BYTES))
        return bytes.fromhex(path.read_text().strip())

    def write_seed(self, seed: bytes) -> None:
        """Store a judge's seed."""
        write_text(self.path / SECRET_NAME, seed.hex() + "\n", mode=_PRIVATE)

    # --- exchanges -----------------------------------------------------------------------------------------

    def find_reply(self, place: Place, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the stored reply to the very same request, None if there is none."""
        try:
            stored = json.loads(self._exchange(place, "reply").read_bytes())
        except (OSError, ValueError):
            return None
        found: dict[str, Any] = stored
        return found if found.get("request_sha256") == request_digest(request) else None

    def recorded_request(self, place: Place) -> dict[str, Any] | None:
        """Return the stored request of a place, None if there is none."""
        try:
            found: dict[str, Any] = json.loads(self._exchange(place, "request").read_bytes())
        except (OSError, ValueError):
            return None
        return found

    def write_request(self, place: Place, request: Mapping[str, Any]) -> None:
        """Store the exact text that is about to be sent."""
        path = self._exchange(place, "request")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write(path, request)

    def write_reply(self, place: Place, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        """Store a reply."""
        self._write(self._exchange(place, "reply"), {"request_sha256": request_digest(request), **reply})

    def copy_exchanges(self, recorded: RunStore, folder: str) -> None:
        """Take an operator's exchanges from another run that are not here yet."""
        for path in (recorded.path / folder).glob("dialogue_*/*.json"):
            own = self.path / path.relative_to(recorded.path)
            if not own.exists():
                own.parent.mkdir(parents=True, exist_ok=True)
                write_text(own, path.read_text())

    def exchanges(self, folder: str) -> int:
        """Return how many requests are stored of an operator."""
        return sum(1 for _ in (self.path / folder).glob("dialogue_*/*.request.json"))

    def replies(self, folder: str) -> list[dict[str, Any]]:
        """Return the stored replies of an operator in the order of their names; a torn one is left out."""
        found = []
        for path in sorted((self.path / folder).glob("dialogue_*/*.reply.json")):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(path.read_bytes()))
        return found

    # --- append-only records -------------------------------------------------------------------------------

    def append_ledger(self, row: Mapping[str, Any]) -> None:
        """Add a row to the ledger, flushed."""
        self._append(self.path / LEDGER_NAME, row)

    def ledger(self) -> list[dict[str, Any]]:
        """Return the ledger's rows, oldest first; a torn last line is left out."""
        return _read_lines(self.path / LEDGER_NAME)

    def append_step(self, folder: str, step: Mapping[str, Any]) -> None:
        """Add what became of one exchange of an operator, in the order in which it was known."""
        (self.path / folder).mkdir(exist_ok=True)
        self._append(self.path / folder / STEPS_NAME, step)

    def steps(self, folder: str) -> list[dict[str, Any]]:
        """Return the steps of an operator in their order."""
        return _read_lines(self.path / folder / STEPS_NAME)

    def write_outcome(self, operator: ProblemName, outcome: Mapping[str, Any]) -> None:
        """Store how an operator ended."""
        (self.path / operator.folder).mkdir(exist_ok=True)
        self._write(self.path / operator.folder / OUTCOME_NAME, outcome)

    def outcome(self, operator: ProblemName) -> dict[str, Any] | None:
        """Return how an operator ended, None if it has not."""
        try:
            found: dict[str, Any] = json.loads((self.path / operator.folder / OUTCOME_NAME).read_bytes())
        except (OSError, ValueError):
            return None
        return found

    def write_text(self, folder: str, name: str, text: str) -> None:
        """Store a text for people in an operator's folder."""
        (self.path / folder).mkdir(exist_ok=True)
        # A reply may hold halves of characters, which are no text.
        write_text(self.path / folder / name, self._redact(text).encode(errors="replace").decode())

    def redacted(self, text: str) -> str:
        """Return a text without secrets."""
        return self._redact(text)

    def _exchange(self, place: Place, kind: str) -> Path:
        return self.path / place.folder / f"dialogue_{place.dialogue}" / f"{place.number:03}.{kind}.json"

    def _write(self, path: Path, value: Mapping[str, Any]) -> None:
        write_text(path, self._redact(json.dumps(value, indent=1, allow_nan=False)) + "\n")

    def _append(self, path: Path, row: Mapping[str, Any]) -> None:
        line = self._redact(json.dumps(row, allow_nan=False)) + "\n"
        with self._lock, path.open("ab") as file:
            if file.tell() and not _ends_whole(path):
                file.write(b"\n")  # a line that was torn when the program was killed
            file.write(line.encode())

    def _take_lock(self) -> None:
        self._exit.enter_context(
            file_lock(self.path / LOCK_NAME, timeout_s=0, purpose="this run of the agent")
        )


def request_digest(request: Mapping[str, Any]) -> str:
    """Return the identity of a request."""
    return digest(dict(request))


def _read_facts(path: Path) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = json.loads((path / RUN_NAME).read_bytes())
        if facts["schema_version"] != SCHEMA_VERSION or "judging" not in facts:
            message = f"schema version {facts['schema_version']}"
            raise ValueError(message)
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"{path} is not a run of the agent: {error}"
        raise InputError(message, hint="name a folder like agent_logs/run_<timestamp>_<model>") from error
    return facts


def _read_lines(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    rows = []
    for line in lines:
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            if isinstance(row, dict):
                rows.append(row)
    return rows


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
