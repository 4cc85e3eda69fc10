"""What the self-test says of what it found."""

from __future__ import annotations

from kagent_bench.evaluate.corpus.entries import CLASSES, entries
from kagent_bench.evaluate.corpus.selftest import Finding, SelfTestReport, cases

MACHINE = {"name": "cpu", "interpreter": True, "versions": {"torch": "2"}}


def _finding(name: str, *, expected: bool) -> Finding:
    kind = name.partition("/")[0]
    detail = "" if expected else "it passed"
    return Finding(
        name=name,
        kind=kind,
        shows="something",
        verdict="correct",
        reason="",
        expected=expected,
        detail=detail,
    )


def test_one_surprise_makes_the_whole_not_as_expected() -> None:
    """It is named with its verdict and counted in its kind."""
    found = (_finding("cheats/a", expected=True), _finding("cheats/b", expected=False))
    report = SelfTestReport(machine=MACHINE, findings=found, limits=("no GPU",))
    text = "\n".join(report.lines())
    assert not report.ok
    assert {"cheats": {"kernels": 2, "as_expected": 1}} == report.to_json()["kinds"]
    assert "cheats   1 of 2 are caught" in text
    assert "cheats/b: correct () it passed" in text
    assert "  no GPU" in text
    assert text.endswith("NOT as expected: do not trust a score from this installation")


def test_a_trick_of_the_interpreter_may_fail_otherwise_on_a_device() -> None:
    """Compiled, a cheat must be told, by whatever verdict; an honest kernel must still be correct."""
    by_name = {entry.name: entry for entry in entries()}
    cheat = by_name["cheats/relu__default__numpy_in_kernel"]
    assert not cheat.allows("incorrect", "raised")
    assert cheat.allows("incorrect", "raised", compiled=True)
    assert not cheat.allows("correct", "", compiled=True)
    assert not cheat.allows("not_judged", "weak", compiled=True)
    assert not by_name["honest/relu__default__plain"].allows("incorrect", "raised", compiled=True)


def test_all_as_expected() -> None:
    """Says so, and lists no kernel."""
    report = SelfTestReport(machine=MACHINE, findings=(_finding("honest/a", expected=True),), limits=())
    assert report.ok
    assert "as expected" == report.lines()[-1]
    assert "must be" not in "\n".join(report.lines())


def test_the_shipped_corpus_has_every_kind_and_says_what_each_kernel_shows() -> None:
    """A few dozen kernels, each with cases of the suite that comes with the program."""
    shipped = entries()
    assert list(CLASSES) == list(dict.fromkeys(entry.group for entry in shipped))
    assert len(shipped) >= 48
    assert [] == [entry.name for entry in shipped if not entry.shows]
    assert all(cases(entry).cases for entry in shipped)
