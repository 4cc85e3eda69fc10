"""Results of ``setup`` and ``generate`` as plain text: their counts, and what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kagent_bench.cli.console import columns

if TYPE_CHECKING:
    from kagent_bench.artefacts.write import SetupResult
    from kagent_bench.generate.summary import GenerateSummary


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
