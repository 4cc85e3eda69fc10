"""Reports: statistics and scores as pure functions over a stored run, and the formats they are shown in."""

from __future__ import annotations

from kagent_bench.phase import make_callable

make_callable(__name__)
