"""The ``json`` format: the summary's JSON form, for scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kagent_bench.model.summary import RunSummary


class JsonFormat:
    """Renders valid JSON: no NaN, no infinity, ASCII only."""

    def render(self, summary: RunSummary, *, cases: bool) -> str:
        """Return the summary as JSON, with the cases' records where ``cases`` is true."""
        return json.dumps(summary.to_json(cases=cases), indent=2, allow_nan=False) + "\n"
