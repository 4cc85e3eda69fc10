"""Solved regions, kept by signature: a region that was solved once is solved in every problem and run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kagent_bench.model.identity import digest
from kagent_bench.stores.atomic import write_text
from kagent_bench.suites.cache import cache_dir, content_versions

FORMAT = 1
"""Version of an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionStore:
    """The store of one generator under one way of judging."""

    folder: Path
    scope: str
    """Hash of the generator and of all that a verdict depends on."""

    @classmethod
    def open(cls, generator: str, version: str, judging: Any) -> RegionStore:
        """Open the store, in the cache folder, which no candidate can read."""
        versions = [list(item) for item in content_versions()]
        scope = digest(
            [FORMAT, generator, version, versions, json.dumps(judging, sort_keys=True, default=str)]
        )
        return cls(folder=cache_dir() / "regions", scope=scope[:16])

    def find(self, signature: str) -> str | None:
        """Return the kernel of a region, None if it is not known."""
        try:
            data = json.loads(self._path(signature).read_bytes())
        except (OSError, ValueError):
            return None
        source = data.get("source") if isinstance(data, dict) else None
        return source if isinstance(source, str) else None

    def keep(self, signature: str, source: str) -> None:
        """Keep a kernel that the evaluator accepted."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(self._path(signature), json.dumps({"source": source}))

    def _path(self, signature: str) -> Path:
        return self.folder / f"{signature}-{self.scope}.json"
