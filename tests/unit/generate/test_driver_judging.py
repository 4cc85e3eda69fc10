"""The driver: which kernels are judged, and which one is promoted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kagent_bench.errors import HarnessFault
from kagent_bench.generate.driver import generate_kernels
from kagent_bench.generate.summary import Outcome
from kagent_bench.hooks.protocols import Attempt, GenerationRequest, GenerationResult
from kagent_bench.model.progress import Silent
from kagent_bench.stores.kernels import KernelStore
from tests.unit.generate.generators import (
    RELU,
    Asker,
    Judges,
    Writer,
    generate,
    kernel,
    only,
    selection,
    set_up,
    settings,
)

if TYPE_CHECKING:
    from kagent_bench.model.selection import OperatorCases


def test_judge_is_not_asked_in_vain(tmp_path: Path) -> None:
    """A generator that does not want a verdict, with one attempt allowed, is not judged here."""
    judges = Judges()
    result = only(generate(selection(RELU), Writer(), settings(tmp_path), judges))
    assert ([], []) == (judges.built, judges.asked)
    assert (False, 0) == (result.verified, result.attempts)


@pytest.mark.parametrize(
    ("word", "outcome", "verified"),
    [
        ("right", Outcome.GENERATED, True),
        ("dunno", Outcome.GENERATED, False),
        ("wrong", Outcome.FAILED, False),
    ],
)
def test_final_kernel_is_judged(tmp_path: Path, word: str, outcome: Outcome, *, verified: bool) -> None:
    """With several attempts allowed the final kernel is judged; a refused one is there for evaluate to show."""
    using = settings(tmp_path, attempts=3)
    result = only(generate(selection(RELU), Writer(word=word), using))
    assert (outcome, verified, 1) == (result.outcome, result.verified, result.attempts)
    assert kernel(RELU, word) == KernelStore(tmp_path).path(RELU).read_text()
    again = only(generate(selection(RELU), Writer(word=word), using))
    assert (result.ok, result.verified) == (again.ok, again.verified)
    assert 0 == again.attempts


def test_best_attempt_wins(tmp_path: Path) -> None:
    """Of all attempts the accepted one is promoted, even if the generator returns another or gives up."""
    using = settings(tmp_path, attempts=4)
    result = only(generate(selection(RELU), Asker(("wrong", "right"), gives_up=True), using))
    assert (Outcome.GENERATED, True, 2) == (result.outcome, result.verified, result.attempts)
    store = KernelStore(tmp_path)
    assert kernel(RELU, "right") == store.path(RELU).read_text()
    assert ["incorrect", "correct"] == [item.attempt.verdict for item in store.attempts(RELU)]


def test_last_failed_attempt_is_promoted_unverified(tmp_path: Path) -> None:
    """If nothing is accepted, the last attempt becomes the kernel, so that evaluate shows its failure."""
    asker = Asker(("wrong", "worse"), gives_up=True)
    result = only(generate(selection(RELU), asker, settings(tmp_path, attempts=4)))
    assert (Outcome.FAILED, "gave_up") == (result.outcome, result.reason)
    store = KernelStore(tmp_path)
    assert kernel(RELU, "worse") == store.path(RELU).read_text()
    stored = store.provenance(RELU)
    assert stored is not None
    assert not stored.verified


def test_verified_kernel_outranks(tmp_path: Path) -> None:
    """A refused kernel never replaces a verified one; a verified one replaces an unverified one."""
    using, store = settings(tmp_path, attempts=2), KernelStore(tmp_path)
    generate(selection(RELU), Writer(word="dunno"), using)
    better = only(generate(selection(RELU), Asker(("right",), version="2"), using))
    assert (Outcome.GENERATED, True) == (better.outcome, better.verified)
    force = settings(tmp_path, attempts=2, force=True)
    worse = only(generate(selection(RELU), Asker(("wrong",), version="3"), force))
    assert (Outcome.KEPT, "better", True) == (worse.outcome, worse.reason, worse.verified)
    assert kernel(RELU, "right") == store.path(RELU).read_text()


def test_attempts_are_limited(tmp_path: Path) -> None:
    """A generator gets as many judgements as it may have; what it had is kept."""
    words = tuple(f"wrong{number}" for number in range(9))
    result = only(generate(selection(RELU), Asker(words), settings(tmp_path, attempts=3)))
    assert (Outcome.FAILED, "out_of_attempts", 3) == (result.outcome, result.reason, result.attempts)
    assert kernel(RELU, "wrong2") == KernelStore(tmp_path).path(RELU).read_text()


def test_judge_fault_keeps_the_kernel(tmp_path: Path) -> None:
    """A harness fault while judging is the operator's error and does not lose the kernel."""

    def broken(_: OperatorCases) -> Callable[[str], Attempt]:
        message = "no device"
        raise HarnessFault(message, hint="plug one in")

    chosen, using = selection(RELU), settings(tmp_path, attempts=2)
    set_up(tmp_path, chosen)
    result = only(generate_kernels(chosen, "fake", Writer(), using, broken, Silent(), device="cpu"))
    assert (Outcome.ERROR, "HarnessFault") == (result.outcome, result.reason)
    assert kernel(RELU) == KernelStore(tmp_path).path(RELU).read_text()


def test_claims_are_hearsay(tmp_path: Path) -> None:
    """Attempts that only the generator tells of are stored as not judged, whatever it claims."""

    class Boasts(Writer):
        def generate(self, request: GenerationRequest) -> GenerationResult:
            claim = Attempt(source="x = 1\n", verdict="correct", feedback="50x")
            return GenerationResult(source=kernel(request.problem.operator), attempts=(claim,))

    result = only(generate(selection(RELU), Boasts(), settings(tmp_path)))
    assert not result.verified
    assert ["not_judged"] == [item.attempt.verdict for item in KernelStore(tmp_path).attempts(RELU)]
