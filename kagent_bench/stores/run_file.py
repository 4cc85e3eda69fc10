"""``run.json``: what a run is about, with which versions and settings, and which cases it must answer for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import InputError
from kagent_bench.model.program import Fault
from kagent_bench.model.record import SCHEMA_VERSION

if TYPE_CHECKING:
    from pathlib import Path

RUN_NAME = "run.json"
RESULTS_NAME = "results.jsonl"
SECRET_NAME = "secret"  # noqa: S105 - a file's name
LOCK_NAME = ".lock"
INTERPRETER_LABEL = "cpu (Triton interpreter)"
"""What every row and title calls a device on which Triton is interpreted."""


class RunState(str, Enum):
    """How far a run is."""

    RUNNING = "running"
    """Being judged, or interrupted."""
    FINISHED = "finished"

    def __str__(self) -> str:
        """Return the stored word."""
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedCase:
    """A case that the run must answer for."""

    id: str
    dtype: str
    """torch's dtype name, see ``model.case.Case.dtype``."""
    origin: str
    held_out: bool
    key: str | None
    """Key of the record that answers it, see ``CaseRecord.key``; None where there is no kernel to judge."""
    call: str = ""
    """The call in words, for cases that never got a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedOperator:
    """An operator in the denominator."""

    op_name: str
    kind: str
    """How it can be judged, see ``model.selection.OperatorCases``."""
    cases: tuple[SelectedCase, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Number of cases that filters left out, by reason."""
    fault: Fault | None = None
    """Why a problem file is no problem, see ``model.program``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFile:
    """The kernel file that was judged."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """Everything about a run but its results."""

    kab_version: str
    created: str
    """UTC time, ISO 8601."""
    finished: str | None
    """UTC time, ISO 8601; None while the run is not finished."""
    state: RunState
    command: tuple[str, ...]
    """Command line that started the run; empty when the Python API did."""
    fingerprint: str
    """Hash of all that decides the work; a run of the same fingerprint can be gone on with."""
    suite_name: str
    suite_sha256: str
    settings: Mapping[str, Any]
    """The resolved settings, as JSON."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each setting came from."""
    versions: Mapping[str, str | None] = field(default_factory=dict)
    """``kab``, ``torch``, ``triton``, ``python``, ``numpy``; None for what is not installed."""
    device: Mapping[str, Any]
    """``kind`` (``cuda``, ``cpu``, ...), ``name``, ``interpreter`` (bool), and whatever describes it further."""
    containment: Mapping[str, Any] = field(default_factory=dict)
    """What held the candidates in."""
    self_test: Mapping[str, Any] = field(default_factory=dict)
    """What could be judged on this machine."""
    selection: tuple[SelectedOperator, ...]
    """The denominator, sorted by name."""
    kernels: Mapping[str, KernelFile]
    """The judged kernels by operator; an operator that is not here has none."""
    spending: Mapping[str, Any] = field(default_factory=dict)
    """By operator: what language models took to write its kernel, see ``model.spending``; only where known."""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def device_label(self) -> str:
        """How rows and titles call the device."""
        if self.device.get("interpreter"):
            return INTERPRETER_LABEL
        return str(self.device.get("name") or self.device["kind"])

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "schema_version": self.schema_version,
            "kab_version": self.kab_version,
            "created": self.created,
            "finished": self.finished,
            "state": self.state.value,
            "command": list(self.command),
            "fingerprint": self.fingerprint,
            "suite": {"name": self.suite_name, "sha256": self.suite_sha256},
            "settings": dict(self.settings),
            "origins": dict(self.origins),
            "versions": dict(self.versions),
            "device": dict(self.device),
            "containment": dict(self.containment),
            "self_test": dict(self.self_test),
            "kernels": {
                name: {"path": kernel.path, "sha256": kernel.sha256} for name, kernel in self.kernels.items()
            },
            "spending": dict(self.spending),
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "selection": [_encode_operator(item) for item in self.selection],
        }

    def to_text(self) -> str:
        """Return the file's text: valid JSON, one key a line, quick also for 100,000 cases."""
        items = (
            f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}"
            for key, value in self.to_json().items()
        )
        return "{\n" + ",\n".join(items) + "\n}\n"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunFile:
        """Read the JSON form.

        Raises:
            TypeError, KeyError, ValueError, AttributeError: the data is not a run file of this version.
        """
        return cls(
            schema_version=data["schema_version"],
            kab_version=data["kab_version"],
            created=data["created"],
            finished=data["finished"],
            state=RunState(data["state"]),
            command=tuple(data["command"]),
            fingerprint=data["fingerprint"],
            suite_name=data["suite"]["name"],
            suite_sha256=data["suite"]["sha256"],
            settings=data["settings"],
            origins=data["origins"],
            versions=data["versions"],
            device=data["device"],
            containment=data["containment"],
            self_test=data["self_test"],
            kernels={name: KernelFile(**kernel) for name, kernel in data["kernels"].items()},
            spending=data.get("spending", {}),
            warnings=tuple(data["warnings"]),
            notes=tuple(data["notes"]),
            selection=tuple(_decode_operator(item) for item in data["selection"]),
        )


def read_run(run_dir: Path) -> RunFile:
    """Read ``run.json`` of a run folder; takes no lock and writes nothing.

    Raises:
        InputError: the folder or the file is missing, is not a run file, or is of another schema version.
    """
    path = run_dir / RUN_NAME
    if not run_dir.is_dir():
        message = f"no run folder {run_dir}"
        raise InputError(message, hint="name a folder that 'kab evaluate' made, or none for the latest")
    try:
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        message = f"{run_dir} is not a run folder: it has no {RUN_NAME}"
        raise InputError(message, hint="name a folder that 'kab evaluate' made") from None
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}"
        raise InputError(message, hint="check the file's permissions") from error
    except ValueError as error:
        message = f"{path} is not JSON: {error}"
        raise InputError(message, hint="evaluate again into a new run folder") from error
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        message = f"{path} has schema version {version}; this kab reads version {SCHEMA_VERSION}"
        raise InputError(message, hint="use the kab version that wrote it, or evaluate again")
    try:
        return RunFile.from_json(data)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        message = f"{path} is not a run file: {type(error).__name__}: {error}"
        raise InputError(message, hint="evaluate again into a new run folder") from error


def _encode_operator(item: SelectedOperator) -> dict[str, Any]:
    return {
        "op_name": item.op_name,
        "kind": item.kind,
        "skipped": dict(item.skipped),
        **({"fault": {"reason": item.fault.reason, "detail": item.fault.detail}} if item.fault else {}),
        "cases": [
            {
                "id": case.id,
                "dtype": case.dtype,
                "origin": case.origin,
                "held_out": case.held_out,
                "key": case.key,
                "call": case.call,
            }
            for case in item.cases
        ],
    }


def _decode_operator(data: Mapping[str, Any]) -> SelectedOperator:
    return SelectedOperator(
        op_name=data["op_name"],
        kind=data["kind"],
        skipped=data["skipped"],
        fault=Fault(**data["fault"]) if data.get("fault") else None,
        cases=tuple(SelectedCase(**case) for case in data["cases"]),
    )
