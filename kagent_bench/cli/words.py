"""Results of ``setup`` and ``generate`` as plain text: their counts, and what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kagent_bench.cli.console import columns

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.artefacts.write import SetupResult
    from kagent_bench.generate.summary import GenerateSummary
    from kagent_bench.suites.tracing.record import Recording


def setup_words(result: SetupResult) -> str:
    """Return the counts of a setup."""
    files = f"{result.written} files written, {result.refreshed} refreshed, {result.unchanged} unchanged"
    return f"{len(result.operators)} operators of suite {result.suite} in {result.base_dir}: {files}"


def generate_words(summary: GenerateSummary) -> str:
    """Return the counts of a generation, and a line for each operator that has no usable kernel."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in summary.counts.items())
    head = f"{len(summary.operators)} operators, {summary.generator} in {summary.base_dir}: {counts}"
    rows = [
        (item.op_name, item.outcome.value, item.reason or "-", " ".join(item.detail.split()))
        for item in summary.operators
        if not item.ok
    ]
    return f"{head}\n{columns(rows)}" if rows else head


def trace_json(recording: Recording, path: Path) -> dict[str, Any]:
    """Return the counts of a recording."""
    return {
        "file": str(path),
        "n_operators": len({call.operator for call in recording.trace.calls}),
        "n_different_calls": len(recording.trace.calls),
        "n_calls": recording.n_calls,
        "execution": recording.execution,
        "left_out": recording.left_out,
    }


def trace_words(recording: Recording, path: Path) -> str:
    """Return the counts of a recording, and what is not in it."""
    found = trace_json(recording, path)
    head = (
        f"{found['n_calls']} calls of {found['n_operators']} operators, {found['n_different_calls']} different ones, "
        f"on {recording.execution} tensors: {path}"
    )
    rows = [(str(count), reason) for reason, count in recording.left_out.items()]
    return f"{head}\nleft out\n{columns(rows)}" if rows else head
