"""Bounds on what a candidate may use up."""

from __future__ import annotations

import errno
import os
import resource
from dataclasses import replace
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


class _PidMax:
    """A switch whose kernel accepts nothing below a minimum."""

    def __init__(self, least: int) -> None:
        self.least = least
        self.tried: list[int] = []

    def write_text(self, text: str) -> None:
        """Take a maximum or refuse it."""
        self.tried.append(int(text))
        if int(text) < self.least:
            raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.parametrize(
    ("least", "state", "last"),
    [(0, StepState.APPLIED, 350), (2000, StepState.APPLIED, 2800), (1 << 22, StepState.REFUSED, 44800)],
)
def test_a_maximum_that_is_too_low_is_raised(
    monkeypatch: pytest.MonkeyPatch, least: int, state: StepState, last: int
) -> None:
    """The kernel's minimum depends on processors that may be plugged in; it is found by trying."""
    switch = _PidMax(least)
    monkeypatch.setattr(limits, "_PID_MAX", switch)
    monkeypatch.setattr(os, "uname", lambda: _System("6.18.0"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    ledger = Ledger()
    ledger.applied(Step.FRESH_PROC)
    limits.limit_processes_in_namespace(replace(_POLICY, max_processes=350), ledger)
    assert last == switch.tried[-1]
    assert [state] == [item.state for item in ledger.results() if item.step is Step.PROCESS_LIMIT]
