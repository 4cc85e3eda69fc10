"""Judging: supervisor, oracle and candidate as three kinds of process, and what they agree on."""

from __future__ import annotations

from kagent_bench.phase import make_callable

make_callable(__name__)
