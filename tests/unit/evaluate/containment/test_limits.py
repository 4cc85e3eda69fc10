"""Bounds on what a candidate may use up."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import NamedTuple

import pytest

from kagent_bench.evaluate.containment import limits
from kagent_bench.evaluate.containment.policy import ContainmentPolicy
from kagent_bench.evaluate.containment.report import Ledger, Step, StepState

_POLICY = ContainmentPolicy(scratch=Path("/s"), readable=(), devices=(), max_processes=77)


class _System(NamedTuple):
    release: str


@pytest.mark.parametrize(
    ("release", "version"),
    [("6.18.44-fc", (6, 18)), ("5.15.0-1053-aws", (5, 15)), ("4.4.0", (4, 4)), ("unknown", (0, 0))],
)
def test_kernel_releases_are_read(release: str, version: tuple[int, int]) -> None:
    """The two leading numbers count, whatever a distribution appends."""
    assert version == limits.kernel_version(release)


@pytest.mark.parametrize(
    ("user", "namespace", "release", "state"),
    [
        (1000, True, "5.15.0", StepState.APPLIED),
        (1000, True, "5.10.0", StepState.REFUSED),
        (1000, False, "6.8.0", StepState.REFUSED),
        (0, True, "6.8.0", StepState.REFUSED),
    ],
)
def test_processes_are_limited_where_the_limit_binds(
    monkeypatch: pytest.MonkeyPatch, user: int, release: str, state: StepState, *, namespace: bool
) -> None:
    """RLIMIT_NPROC is used only where it counts this candidate alone; else the report says so."""
    made: list[int] = []
    monkeypatch.setattr(os, "uname", lambda: _System(release))
    monkeypatch.setattr(limits, "_limit", lambda _, value: made.append(value))
    ledger = Ledger()
    if namespace:
        ledger.applied(Step.USER_NAMESPACE)
    limits._limit_processes(_POLICY, user, ledger)
    assert [state] == [item.state for item in ledger.results() if item.step is Step.PROCESS_LIMIT]
    assert ([77] if state is StepState.APPLIED else []) == made


def test_a_lower_hard_limit_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit is never raised above what the process was given."""
    made: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 20))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: made.append((kind, both)))
    limits._limit(resource.RLIMIT_NOFILE, 1024)
    assert [(resource.RLIMIT_NOFILE, (20, 20))] == made
