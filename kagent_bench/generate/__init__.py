"""Generation: requests, limits, attempts and resume around any generator plugin."""

from __future__ import annotations

from kagent_bench.phase import make_callable

make_callable(__name__)
