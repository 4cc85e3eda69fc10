"""The provenance file beside a kernel, read and written: who made it, from which problem, and whether it passed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from kagent_bench.model.kernel import Provenance
from kagent_bench.model.names import parse_name
from kagent_bench.stores.atomic import write_json

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "provenance.json"
SCHEMA_VERSION = 1
"""Version of the file; an unknown one is not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProvenance:
    """What the file holds."""

    provenance: Provenance
    replaces: str | None
    """Hash of the kernel that this one took the place of. Where the kernel file still has that hash, the
    promotion was cut off between the two files, and nobody changed the kernel by hand."""


def read_provenance(path: Path) -> StoredProvenance:
    """Read a provenance file.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError, KeyError, TypeError: the file is not a provenance, or of an unknown version.
    """
    return decode_provenance(json.loads(path.read_bytes()))


def write_provenance(path: Path, provenance: Provenance, *, replaces: str | None) -> None:
    """Replace a provenance file in one step.

    Raises:
        OSError: the folder cannot be written.
        ValueError, TypeError: the details hold what JSON lacks.
    """
    write_json(path, encode_provenance(StoredProvenance(provenance=provenance, replaces=replaces)))


def encode_provenance(stored: StoredProvenance) -> dict[str, Any]:
    """Return the JSON form; ``decode_provenance`` is its inverse."""
    data = asdict(stored.provenance)
    data["operator"] = str(stored.provenance.operator)
    return {"schema_version": SCHEMA_VERSION, **data, "replaces": stored.replaces}


def decode_provenance(data: dict[str, Any]) -> StoredProvenance:
    """Read the JSON form.

    Raises:
        ValueError, KeyError, TypeError: the data is not a provenance, or of an unknown version.
    """
    if data["schema_version"] != SCHEMA_VERSION:
        message = f"provenance of schema version {data['schema_version']!r}, known is {SCHEMA_VERSION}"
        raise ValueError(message)
    known = {item.name: data[item.name] for item in fields(Provenance) if item.name in data}
    known["operator"] = parse_name(known["operator"])
    return StoredProvenance(provenance=Provenance(**known), replaces=data.get("replaces"))
