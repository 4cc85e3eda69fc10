"""The opinfo suite, recorded from a few of PyTorch's OpInfos."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kagent_bench.hooks.protocols import Suite, SuiteRequest
from kagent_bench.model.case import Case, LiteralValues, UniformValues
from kagent_bench.model.names import OperatorName
from kagent_bench.suites import cache
from kagent_bench.suites.opinfo import OpInfoSuite
from kagent_bench.suites.shard import Shard

if TYPE_CHECKING:
    from pathlib import Path

OPINFOS = ("nn.functional.relu", "add", "empty_like", "bernoulli", "index_select")

CRASHING = {"nn.functional.nll_loss": "nll_loss_backward", "nn.functional.pdist": "_pdist_backward"}
"""OpInfos with an operator that eager crashes on when sizes do not fit together: each crash means recording anew."""

RECORD = """
from kagent_bench.suites.record import main
main(["float32", "{float32}", *{opinfos}, *{crashing}])
main(["int64", "{int64}", *{opinfos}])
main(["int64", "{again}", *{opinfos}])
"""
"""One process for all, because the import takes longer than the recording."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder that holds shards of a few OpInfos, the second one recorded twice."""
    root = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(root))
        paths = {dtype: cache.shard_path(cache.cache_dir(), dtype) for dtype in ("float32", "int64")}
    code = RECORD.format(**paths, again=root / "again.sqlite", opinfos=OPINFOS, crashing=tuple(CRASHING))
    subprocess.run([sys.executable, "-c", code], check=True, env=cache.clean_environment(root))
    return root


@pytest.fixture
def suite(home: Path, monkeypatch: pytest.MonkeyPatch) -> OpInfoSuite:
    """Return the suite over that folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    return OpInfoSuite()


def _cases(suite: OpInfoSuite, name: str, dtype: str = "float32", limit: int = 0) -> tuple[Case, ...]:
    request = SuiteRequest(
        operators=frozenset({OperatorName.parse(name)}), dtypes=frozenset({dtype}), cases_per_operator=limit
    )
    (item,) = suite.operators(request)
    return item.cases


def test_origins(suite: OpInfoSuite) -> None:
    """Direct, in-place, inner, backward, reference and derived calls are there, each under its name."""
    assert isinstance(suite, Suite)
    assert "direct" in {case.origin for case in _cases(suite, "relu")}
    assert {"inplace"} == {case.origin for case in _cases(suite, "add_.Tensor") if ":" not in case.origin}
    assert {"backward"} == {
        case.origin for case in _cases(suite, "threshold_backward") if ":" not in case.origin
    }
    assert "reference" in {case.origin for case in _cases(suite, "add.Tensor")}
    assert any(case.origin.startswith("derived:") for case in _cases(suite, "add.Tensor"))


@pytest.mark.parametrize("name", CRASHING.values())
def test_no_call_is_derived_that_eager_would_crash_on(suite: OpInfoSuite, name: str) -> None:
    """Operators that look at no size before they read are judged on PyTorch's own samples, and on sizes that fit."""
    assert {case.origin for case in _cases(suite, name)} <= {"backward", "derived:larger"}


def test_values(suite: OpInfoSuite) -> None:
    """Recorded indices are literal; plain floating-point values are fresh."""
    cases = [case for case in _cases(suite, "index_select") if not case.origin.startswith("derived")]
    storages = [case.storages for case in cases]
    assert any(isinstance(group[0].rule, UniformValues) for group in storages)
    assert all(
        isinstance(item.rule, LiteralValues) for group in storages for item in group if item.dtype == "int64"
    )


def test_in_place_calls_keep_the_values_from_before_the_call(suite: OpInfoSuite) -> None:
    """Values come in the range of the samples, negative ones too, and not in that of results."""
    rules = [case.storages[0].rule for case in _cases(suite, "add_.Tensor") if case.origin == "inplace"]
    assert any(isinstance(rule, UniformValues) and rule.low < 0 for rule in rules)


def test_kinds(suite: OpInfoSuite) -> None:
    """Operators that cannot be judged by value have a named class."""
    request = SuiteRequest(dtypes=frozenset({"float32"}), cases_per_operator=1)
    kinds = {str(item.operator): item.kind for item in suite.operators(request)}
    assert ("value", "metadata", "random") == (
        kinds["relu.default"],
        kinds["empty_like.default"],
        kinds["bernoulli.default"],
    )


def test_limit_keeps_the_first_and_a_share_of_derived_ones(suite: OpInfoSuite) -> None:
    """A smaller limit is a prefix of a larger one; derived cases are at least a quarter."""
    every = _cases(suite, "add.Tensor")
    forty = _cases(suite, "add.Tensor", limit=40)
    assert every[:40] == forty
    assert forty[0].origin == "direct"
    assert sum(case.origin.startswith("derived:") for case in forty) >= 10


def test_signatures_come_once(suite: OpInfoSuite) -> None:
    """No two cases have the same content, and counts say how many calls each stands for."""
    cases = _cases(suite, "add.Tensor")
    assert len(cases) == len({case.id for case in cases})
    assert any(case.count > 1 for case in cases)


def test_dtypes(suite: OpInfoSuite) -> None:
    """An operator without support of a dtype is absent there; case dtypes are those of the samples."""
    names = suite.operator_names(SuiteRequest(dtypes=frozenset({"int64"})))
    assert OperatorName.parse("add.Tensor") in names
    assert {"int64"} == {case.dtype for case in _cases(suite, "add.Tensor", "int64")}
    assert OperatorName.parse("threshold_backward") not in names


def test_recording_twice_gives_the_same(home: Path, suite: OpInfoSuite) -> None:
    """The same versions give the same cases, whatever was recorded before."""
    again = Shard(home / "again.sqlite")
    (first,) = suite._open(SuiteRequest(dtypes=frozenset({"int64"}))).values()
    assert first.facts["sha256"] == again.facts["sha256"]
    again.close()
