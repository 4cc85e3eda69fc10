"""The files that BackendBench's users look for, derived from the results; they can be made again at any time."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kagent_bench.errors import HarnessFault
from kagent_bench.model.verdict import CaseStatus
from kagent_bench.report.backendbench import would_pass
from kagent_bench.report.render_csv import CsvFormat
from kagent_bench.report.render_md import MarkdownFormat
from kagent_bench.stores.atomic import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.model.record import CaseRecord
    from kagent_bench.model.summary import RunSummary

OVERALL_SUMMARY = "OVERALL_SUMMARY.md"
OPERATOR_SUMMARY = "operator_summary.csv"
FULL_RESULTS = "full_results.json"
FAILED_TESTS = "failed_tests.json"
_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_FINE = frozenset({CaseStatus.PASSED, CaseStatus.NOT_JUDGED, CaseStatus.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedFiles:
    """What was written."""

    paths: tuple[Path, ...]
    refused: str = ""
    """Why nothing was written: a folder that is read-only for this user is no error for a report."""


def write_derived(run_dir: Path, summary: RunSummary) -> DerivedFiles:
    """Write the derived files of a run, each in one step.

    Raises:
        HarnessFault: a file cannot be written for another reason than permissions, such as a full disk.
    """
    rows = [_row(record) for record in summary.cases]
    failed = [row for row, record in zip(rows, summary.cases, strict=True) if record.status not in _FINE]
    texts = {
        OVERALL_SUMMARY: MarkdownFormat().render(summary, cases=False),
        OPERATOR_SUMMARY: CsvFormat().render(summary, cases=False),
        FULL_RESULTS: _json(rows),
        FAILED_TESTS: _json(failed),
    }
    written: list[Path] = []
    for name, text in texts.items():
        path = run_dir / name
        try:
            write_text(path, text)
        except OSError as error:
            if error.errno in _READ_ONLY:
                return DerivedFiles(paths=tuple(written), refused=f"cannot write {path}: {error.strerror}")
            message = f"cannot write {path}: {error.strerror}"
            raise HarnessFault(message, hint="free some space, then run 'kab report' again") from error
        written.append(path)
    return DerivedFiles(paths=tuple(written))


def _row(record: CaseRecord) -> dict[str, Any]:
    """Return a record with the field names of BackendBench's results first, old and new."""
    data = record.to_json()
    passed = would_pass(record)
    return {
        "op_name": record.op_name,
        "args": record.call,
        "is_correct": passed,
        "has_correct_output": passed,
        "error_msg": record.detail,
        "error_type": record.reason,
        "max_abs_error": data["max_abs_error"],
        "max_rel_error": data["max_rel_error"],
        "test_type": "correctness",
        **data,
    }


def _json(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write a JSON list, one row a line: quick to make, to search and to compare."""
    return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"
