"""What is seen of a kernel from inside its process."""

from __future__ import annotations

import math

import pytest
import torch

from kagent_bench.evaluate.candidate.observe import MAX_KINDS, OBSERVER, Observer, Watch


def seen(turn: int = 0) -> Watch:
    """Start observing, in a turn that decides how fresh memory is poisoned."""
    OBSERVER.reset(turn)
    return Watch()  # type: ignore[no-untyped-call]


def test_library_calls_are_seen() -> None:
    """By their full names, once each, also those of methods and operators."""
    with seen():
        value = torch.ones(3)
        torch.relu(value + 1)
        _ = value + 2
    calls = OBSERVER.seen()["calls"]
    assert {"aten.ones.default", "aten.add.Tensor", "aten.relu.default"} <= set(calls)
    assert sorted(set(calls)) == calls


def test_operators_in_python_are_seen_through() -> None:
    """What a kernel file registers is its own code: the library calls in it count, not the call of it."""
    with torch.library._scoped_library("observed", "FRAGMENT") as library:
        library.define("positive(Tensor x) -> Tensor")
        library.impl("positive", lambda x: torch.relu(x).clone(), "CompositeExplicitAutograd")
        with seen():
            found = torch.ops.observed.positive(torch.tensor([-1.0, 2.0]))
    assert [0.0, 2.0] == found.tolist()
    calls = set(OBSERVER.seen()["calls"])
    assert {"aten.relu.default", "aten.clone.default"} <= calls
    assert "observed.positive.default" not in calls


def test_primitives_are_seen_through() -> None:
    """They are the library's, whatever their namespace is called."""
    with seen():
        torch.ops.prims.sin(torch.ones(3))
    assert "aten.sin.default" in OBSERVER.seen()["calls"]


@pytest.mark.parametrize("make", [torch.empty, lambda *shape: torch.ones(1).new_empty(shape)])
def test_fresh_memory_is_poisoned(make: object) -> None:
    """An element that a kernel does not write is NaN in one turn and a number in the next."""
    assert callable(make)
    with seen(turn=0):
        first = make(4)
    with seen(turn=1):
        second = make(4)
    assert all(math.isnan(value) for value in first.tolist())
    assert 1 == len(set(second.tolist()))
    assert math.isfinite(second[0])


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float16, torch.complex64])
def test_poison_changes_from_turn_to_turn(dtype: torch.dtype) -> None:
    """In every dtype, so that an unwritten element is wrong in one of two rounds."""
    with seen(turn=0):
        first = torch.empty(4, dtype=dtype)
    with seen(turn=1):
        second = torch.empty(4, dtype=dtype)
    assert not torch.equal(first, second)


def test_nothing_is_kept_between_calls() -> None:
    """What one call did is not held against the next."""
    with seen():
        torch.relu(torch.ones(3))
    with seen():
        pass
    assert [] == [name for name, value in OBSERVER.seen().items() if value]


def _kernel() -> None:
    """Stand for a kernel of this file."""


def test_only_kernels_of_the_file_count() -> None:
    """A launch of somebody else's kernel is not the candidate's work."""
    observer = Observer()
    observer.author = __file__
    with observer.launch(_kernel):
        pass
    with observer.launch(math.floor):
        pass
    observer.author = "/elsewhere.py"
    with observer.launch(_kernel):
        pass
    assert 1 == observer.seen()["launches"]


def test_host_code_that_a_launch_calls_is_the_candidates() -> None:
    """A hook or a grid that hands values to NumPy does not pass for the interpreter."""
    observer = Observer()
    with observer.launch(_kernel):
        observer.library("numpy")
        observer.host_code(lambda: observer.call("aten.copy_.default"))()
        observer.library("numpy")
    assert ["aten.copy_.default"] == observer.seen()["calls"]
    with observer.launch(_kernel):
        observer.host_code(lambda: observer.library("numpy"))()
    assert ["aten.copy_.default", "numpy"] == observer.seen()["calls"]


def test_kinds_of_launches_are_named_once() -> None:
    """As often as a kernel is launched, and no more than can be told of."""
    observer = Observer()
    observer.author = __file__
    for value in ("a", "a", *map(str, range(2 * MAX_KINDS))):
        with observer.launch(_kernel, (), {"FLAG": value}):
            pass
    assert MAX_KINDS == len(observer.seen()["kinds"])


def test_what_the_interpreter_does_during_a_launch_is_its_own() -> None:
    """Copies between host and interpreter are not the candidate's; computing inside a launch is."""
    observer = Observer()
    with observer.launch(_kernel):
        observer.call("aten.copy_.default")
        observer.call("aten.mm.default")
    observer.call("aten.new_empty.default")
    assert ["aten.mm.default", "aten.new_empty.default"] == observer.seen()["calls"]
