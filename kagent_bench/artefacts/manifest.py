"""The manifest of a kernels folder: which suite, versions and tolerances its artefacts were made from.

``manifest.json`` pins the hash of every artefact, so that one that was edited or outlived its suite is noticed
before a generator reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import UsageError
from kagent_bench.model.identity import source_digest
from kagent_bench.model.names import parse_name

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.model.selection import Selection

FILE_NAME = "manifest.json"
SCHEMA_VERSION = 1
"""Version of the file; an unknown one counts as unreadable."""
_SHOWN = 3
"""Findings that an error message names; more are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What the last setup made."""

    suite: str
    suite_sha256: str
    versions: Mapping[str, str]
    """``kab`` and ``torch``: what the artefacts' words depend on."""
    tolerance: Mapping[str, float]
    operators: Mapping[str, Mapping[str, str]]
    """By operator name: hash by file name."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; ``from_json`` is its inverse."""
        return {
            "schema_version": SCHEMA_VERSION,
            "suite": {"name": self.suite, "sha256": self.suite_sha256},
            "versions": dict(sorted(self.versions.items())),
            "tolerance": dict(sorted(self.tolerance.items())),
            "operators": {
                name: dict(sorted(files.items())) for name, files in sorted(self.operators.items())
            },
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Manifest:
        """Read the JSON form.

        Raises:
            ValueError, KeyError, TypeError, AttributeError: the data is not a manifest, or of another version.
        """
        if data["schema_version"] != SCHEMA_VERSION:
            message = f"schema version {data['schema_version']!r}, known is {SCHEMA_VERSION}"
            raise ValueError(message)
        return cls(
            suite=data["suite"]["name"],
            suite_sha256=data["suite"]["sha256"],
            versions=dict(data["versions"]),
            tolerance=dict(data["tolerance"]),
            operators={name: dict(files) for name, files in data["operators"].items()},
        )

    def same_source(self, other: Manifest) -> bool:
        """Return whether both were made from the same suite, versions and tolerances."""
        mine = (self.suite, self.suite_sha256, dict(self.versions), dict(self.tolerance))
        return mine == (other.suite, other.suite_sha256, dict(other.versions), dict(other.tolerance))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which a kernels folder is not what its manifest or the selection says."""

    kind: str
    """``absent``, ``unreadable``, ``stale`` (suite, versions), ``not_set_up``, ``edited`` or ``missing``."""
    subject: str
    """What it is about: a path or an operator."""
    detail: str
    """The finding in words."""


def installed_versions() -> dict[str, str]:
    """Return the versions that artefacts depend on, without importing anything heavy."""
    return {"kab": metadata.version("kagent-bench"), "torch": metadata.version("torch").partition("+")[0]}


def read_manifest(base_dir: Path) -> Manifest:
    """Read the manifest of a kernels folder.

    Raises:
        OSError: there is none, or it cannot be read.
        ValueError, KeyError, TypeError, AttributeError: the file is not a manifest.
    """
    return Manifest.from_json(json.loads((base_dir / FILE_NAME).read_bytes()))


def manifest_text(manifest: Manifest) -> str:
    """Return the text of a manifest file, the same for equal manifests."""
    return json.dumps(manifest.to_json(), indent=2, allow_nan=False) + "\n"


def check_manifest(base_dir: Path, selection: Selection) -> tuple[Finding, ...]:
    """Return what is wrong with the artefacts of the selected operators; nothing if all is as set up."""
    path = base_dir / FILE_NAME
    try:
        manifest = read_manifest(base_dir)
    except FileNotFoundError:
        return (
            Finding(kind="absent", subject=str(path), detail=f"{base_dir} was not set up: no {FILE_NAME}"),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return (Finding(kind="unreadable", subject=str(path), detail=f"{path} is not a manifest: {error}"),)
    return (*_stale(path, manifest, selection), *_changed(base_dir, manifest, selection))


NEVER_SET_UP = frozenset(["absent", "not_set_up"])
"""Findings that leave nothing out of date: problems are made from the suite itself."""


def require_manifest(base_dir: Path, selection: Selection) -> None:
    """Refuse to go on from artefacts that are stale or edited; a folder that was never set up needs none.

    Raises:
        UsageError: names the first findings and the command that puts them right.
    """
    findings = [item for item in check_manifest(base_dir, selection) if item.kind not in NEVER_SET_UP]
    if findings:
        shown = "; ".join(finding.detail for finding in findings[:_SHOWN])
        more = f"; and {len(findings) - _SHOWN} more" if len(findings) > _SHOWN else ""
        hint = f"make them anew, kernels stay: kab setup --suite {selection.suite} --base-dir {base_dir}"
        message = f"the artefacts cannot be used: {shown}{more}"
        raise UsageError(message, hint=hint)


def _stale(path: Path, manifest: Manifest, selection: Selection) -> Iterator[Finding]:
    if manifest.suite != selection.suite:
        detail = f"{path} is of suite '{manifest.suite}', not '{selection.suite}'"
        yield Finding(kind="stale", subject=str(path), detail=detail)
    elif manifest.suite_sha256 != selection.suite_sha256:
        detail = f"{path} is stale: suite '{selection.suite}' changed since the setup"
        yield Finding(kind="stale", subject=str(path), detail=detail)
    for name, version in installed_versions().items():
        if manifest.versions.get(name) != version:
            detail = (
                f"{path} is stale: made with {name} {manifest.versions.get(name)}, installed is {version}"
            )
            yield Finding(kind="stale", subject=str(path), detail=detail)


def _changed(base_dir: Path, manifest: Manifest, selection: Selection) -> Iterator[Finding]:
    for item in selection.operators:
        name = str(item.operator)
        if item.fault is not None:
            continue
        if name not in manifest.operators:
            yield Finding(kind="not_set_up", subject=name, detail=f"operator {name} was not set up")
            continue
        for file, sha256 in manifest.operators[name].items():
            path = base_dir / parse_name(name).folder / file
            try:
                found = source_digest(path.read_bytes())
            except OSError:
                yield Finding(kind="missing", subject=str(path), detail=f"{path} is missing")
                continue
            if found != sha256:
                yield Finding(kind="edited", subject=str(path), detail=f"{path} was edited since the setup")
