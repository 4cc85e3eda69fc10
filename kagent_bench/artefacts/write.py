"""``setup``: writes the operator folders with their static artefacts, and touches no kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.artefacts import manifest as manifests
from kagent_bench.artefacts.manifest import Manifest, installed_versions
from kagent_bench.artefacts.problem import build_problem
from kagent_bench.artefacts.refresh import Change, refresh
from kagent_bench.errors import InputError
from kagent_bench.model.identity import source_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kagent_bench.hooks.protocols import Problem
    from kagent_bench.model.progress import Progress
    from kagent_bench.model.selection import Selection

SCHEMA_VERSION = 1
"""Version of ``SetupResult``'s JSON form."""
PROBLEM_NAME = "problem.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupResult:
    """What a setup did."""

    base_dir: Path
    suite: str
    written: int
    """Files that are new."""
    refreshed: int
    """Files that had another content."""
    unchanged: int
    """Files that were not touched."""
    operators: tuple[str, ...]
    """The operators that are set up now, in the selection's order."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form that ``--json`` prints."""
        return {
            "schema_version": SCHEMA_VERSION,
            "base_dir": str(self.base_dir),
            "suite": self.suite,
            "written": self.written,
            "refreshed": self.refreshed,
            "unchanged": self.unchanged,
            "operators": list(self.operators),
            "warnings": list(self.warnings),
        }


def write_artefacts(
    base_dir: Path, selection: Selection, tolerance: Mapping[str, float], progress: Progress
) -> SetupResult:
    """Write problem statement and test file of every selected operator, and the manifest last.

    Files that are as they should be keep their bytes and times. Operators of an earlier setup from the same
    suite, versions and tolerances stay in the manifest.

    Args:
        base_dir: The kernels folder; made if missing.
        selection: The operators and their cases; held-out cases are left out.
        tolerance: Tolerance factor by torch's dtype name.
        progress: Told of each operator.

    Raises:
        InputError: the folder cannot be written, or torch lacks a selected operator.
    """
    changes: Counter[Change] = Counter()
    hashes: dict[str, dict[str, str]] = {}
    faults: list[str] = []
    progress.begin("setup", len(selection.operators))
    try:
        for item in selection.operators:
            if item.fault is not None:
                progress.done(str(item.operator), f"no problem ({item.fault.reason})", ok=False)
                faults.append(f"{item.operator} is left out: {item.fault.reason}: {item.fault.detail}")
                continue
            files = artefact_files(build_problem(item, tolerance))
            folder = base_dir / item.operator.folder
            folder.mkdir(parents=True, exist_ok=True)
            outcomes = [refresh(folder / name, text) for name, text in files.items()]
            changes.update(outcomes)
            hashes[str(item.operator)] = {name: source_digest(text.encode()) for name, text in files.items()}
            progress.done(str(item.operator), _most(outcomes).value, ok=True)
        base_dir.mkdir(parents=True, exist_ok=True)
        made = Manifest(
            suite=selection.suite,
            suite_sha256=selection.suite_sha256,
            versions=installed_versions(),
            tolerance=tolerance,
            operators=hashes,
        )
        whole, warnings = _merged(base_dir, made)
        changes[refresh(base_dir / manifests.FILE_NAME, manifests.manifest_text(whole))] += 1
    except OSError as error:
        message = f"{error.filename or base_dir} cannot be written: {error.strerror}"
        raise InputError(message, hint="choose another folder with --base-dir") from error
    finally:
        progress.finish()
    warnings = (*warnings, *faults)
    for warning in warnings:
        progress.warn(warning)
    return SetupResult(
        base_dir=base_dir,
        suite=selection.suite,
        written=changes[Change.WRITTEN],
        refreshed=changes[Change.REFRESHED],
        unchanged=changes[Change.UNCHANGED],
        operators=tuple(hashes),
        warnings=warnings,
    )


def artefact_files(problem: Problem) -> dict[str, str]:
    """Return the text of each artefact of an operator by file name."""
    return {PROBLEM_NAME: problem.statement, f"test_{problem.operator.folder}.py": problem.test_source}


def _most(outcomes: list[Change]) -> Change:
    order = (Change.WRITTEN, Change.REFRESHED, Change.UNCHANGED)
    return next(change for change in order if change in outcomes)


def _merged(base_dir: Path, made: Manifest) -> tuple[Manifest, tuple[str, ...]]:
    """Return the new manifest with the former one's other operators where these are still true."""
    try:
        former = manifests.read_manifest(base_dir)
    except FileNotFoundError:
        return made, ()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return made, (f"{base_dir / manifests.FILE_NAME} was not a manifest and has been replaced",)
    others = {name: files for name, files in former.operators.items() if name not in made.operators}
    if not others:
        return made, ()
    if not made.same_source(former):
        text = f"{len(others)} operators of an earlier setup (suite '{former.suite}') are out of date"
        return made, (f"{text} and no longer in the manifest; their folders stay",)
    operators = {**others, **made.operators}
    return (
        Manifest(
            suite=made.suite,
            suite_sha256=made.suite_sha256,
            versions=made.versions,
            tolerance=made.tolerance,
            operators=operators,
        ),
        (),
    )
