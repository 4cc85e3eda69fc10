"""Running sums and products."""

from __future__ import annotations

from kab_baseline.definition import Scan

OPERATORS: dict[str, Scan] = {
    "cumsum": Scan(summary="running sum along dim", scan="tl.cumsum", start=0, combine="+"),
    "cumprod": Scan(summary="running product along dim", scan="tl.cumprod", start=1, combine="*"),
}
