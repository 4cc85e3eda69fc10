"""What the generations of an operator took, one entry for each generation run, beside the kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kagent_bench.model.spending import Spending, total
from kagent_bench.stores.atomic import write_json

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME = "spending.json"
SCHEMA_VERSION = 1


def write_spending(folder: Path, run: str, spending: Spending) -> None:
    """Store what one generation run took for an operator; the same run's former entry is replaced.

    Args:
        folder: The operator's folder; must exist.
        run: Names the generation run, the same when it is gone on with.
        spending: The sums over the whole run.

    Raises:
        OSError: the folder cannot be written.
    """
    runs = {**_read(folder), run: spending}
    data = {name: item.to_json() for name, item in sorted(runs.items())}
    write_json(folder / FILE_NAME, {"schema_version": SCHEMA_VERSION, "runs": data})


def read_spending(folder: Path) -> Spending | None:
    """Return the sum over all generation runs of an operator, None where nothing is recorded."""
    runs = _read(folder)
    return total(runs.values()) if runs else None


def _read(folder: Path) -> dict[str, Spending]:
    """Return the entries by run; a file that is missing or not ours has none."""
    try:
        data = json.loads((folder / FILE_NAME).read_bytes())
        if data["schema_version"] != SCHEMA_VERSION:
            return {}
        return {str(name): Spending.from_json(item) for name, item in data["runs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
