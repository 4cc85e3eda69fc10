"""The selection made from a suite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kagent_bench.config.schema import SelectionSettings
from kagent_bench.errors import PluginError, UnknownName, UsageError
from kagent_bench.hooks.catalog import build_catalog
from kagent_bench.hooks.protocols import SuiteRequest
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName, ProblemName
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.select import match_operators, select

if TYPE_CHECKING:
    from pathlib import Path

    from kagent_bench.model.case import Case

TABLE = {
    "add.Scalar": ("float32",),
    "add.Tensor": ("float32", "float16"),
    "leaky_relu.default": ("float32",),
    "relu.default": ("float32", "float16", "int64"),
    "relu_.default": ("float16",),
}


class _FakeSuite:
    """Five operators, and a log of the dtypes that were asked for."""

    def __init__(self) -> None:
        self.asked: list[frozenset[str] | None] = []

    def content_sha256(self) -> str:
        return "feed"

    def operator_names(self, request: SuiteRequest | None = None) -> tuple[ProblemName, ...]:
        return tuple(item.operator for item in self.operators(request or SuiteRequest()))

    def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
        self.asked.append(request.dtypes)
        for text, dtypes in sorted(TABLE.items()):
            name = OperatorName.parse(text)
            wanted = [dtype for dtype in dtypes if request.dtypes is None or dtype in request.dtypes]
            if wanted and (request.operators is None or name in request.operators):
                cases = tuple(
                    make_case(name, (i,), (), (), dtype=d, origin="smoke") for i, d in enumerate(wanted)
                )
                yield OperatorCases(operator=name, kind="value", cases=cases)


class _FakeFilter:
    """Keeps one dtype; skips with a given reason."""

    def __init__(self, dtype: str, reason: str | None = None) -> None:
        self.dtypes = frozenset({dtype})
        self.reason = f"not {dtype}" if reason is None else reason

    def skip_reason(self, case: Case) -> str | None:
        return None if case.dtype in self.dtypes else self.reason


class _FakeRegistry:
    def __init__(self, kind: str, **known: Any) -> None:
        self.kind = kind
        self.known = known

    def load(self, name: str, *, asked_by: str) -> Any:
        if name not in self.known:
            raise UnknownName(self.kind, name, self.known, asked_by=asked_by)
        return self.known[name]


class _FakeCatalog:
    def __init__(self) -> None:
        self.suite = _FakeSuite()
        self.suites = _FakeRegistry("suite", fake=self.suite)
        self.dtype_filters = _FakeRegistry(
            "dtype filter",
            fp16=_FakeFilter("float16"),
            fp32=_FakeFilter("float32"),
            int=_FakeFilter("int64"),
            mute=_FakeFilter("bool", ""),
        )


def _select(
    catalog: _FakeCatalog | None = None, *, only: frozenset[OperatorName] | None = None, **settings: Any
) -> dict[str, tuple[int, list[str]]]:
    chosen = SelectionSettings(suite="fake", **settings)
    selection = select(catalog or _FakeCatalog(), chosen, only=only)  # type: ignore[arg-type]
    return {
        str(item.operator): (len(item.cases), [skipped.reason for skipped in item.skipped])
        for item in selection.operators
    }


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("relu", ["relu.default"]),
        ("relu.default", ["relu.default"]),
        ("aten.relu_.default", ["relu_.default"]),
        ("add", ["add.Scalar", "add.Tensor"]),
        ("add.Tensor", ["add.Tensor"]),
        ("add.default", []),
        ("elu", []),
        ("not a name!", []),
    ],
)
def test_names_are_exact(asked: str, expected: list[str]) -> None:
    """A base name never means another operator that contains it."""
    names = [OperatorName.parse(text) for text in TABLE]
    assert expected == [str(name) for name in match_operators(asked, names)]


def test_everything_without_settings() -> None:
    """No filter keeps all operators and skips nothing."""
    assert sorted(TABLE) == list(_select())


def test_unknown_operator_names_near_matches() -> None:
    """A typing error shows what is near, even with a dtype filter."""
    with pytest.raises(UnknownName) as caught:
        _select(ops=("rellu",), dtype=("fp16",))
    assert "relu" in caught.value.near


def test_filters_join() -> None:
    """Several filters keep what any keeps, and a skipped case carries all reasons."""
    found = _select(ops=("relu",), dtype=("fp16", "int"))
    assert {"relu.default": (2, [])} == found
    kept_nothing = _select(ops=("leaky_relu",), dtype=("fp16", "int"))
    assert {"leaky_relu.default": (0, ["not float16; not int64"])} == kept_nothing


def test_operators_without_the_dtype_are_left_out_unless_named() -> None:
    """With --ops an operator stays as skipped; without, it is not in the selection."""
    assert ["relu.default"] == list(_select(dtype=("int",)))
    assert {"add.Scalar": (0, ["not int64"]), "relu.default": (1, [])} == _select(
        ops=("relu", "add.Scalar"), dtype=("int",)
    )


def test_operators_that_are_left_out_are_counted_with_the_reasons() -> None:
    """What a suite has of other dtypes does not vanish without a word."""

    class Mixed(_FakeSuite):
        def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
            return super().operators(replace(request, dtypes=None))

    catalog = _FakeCatalog()
    catalog.suites.known["fake"] = Mixed()
    selection = select(catalog, SelectionSettings(suite="fake", dtype=("int",)))  # type: ignore[arg-type]
    assert ["relu.default"] == [str(item.operator) for item in selection.operators]
    assert ("operators left out because all their cases are skipped: 4 (5 x not int64)",) == selection.notes


def test_suite_is_asked_for_the_wanted_dtypes_only() -> None:
    """The other dtypes need not be recorded."""
    catalog = _FakeCatalog()
    _select(catalog, ops=("relu",), dtype=("fp16",))
    assert {frozenset({"float16"})} == set(catalog.suite.asked)


def test_number_counts_after_filters() -> None:
    """The first operators by name that have a case."""
    assert ["add.Tensor", "relu.default"] == list(_select(dtype=("fp16",), num_operators=2))


def test_only_restricts() -> None:
    """Other operators are left out, named or not."""
    only = frozenset({OperatorName.parse("add.Tensor")})
    assert ["add.Tensor"] == list(_select(only=only))
    assert ["add.Tensor"] == list(_select(ops=("add",), only=only))


def test_empty_reason_is_the_filters_fault() -> None:
    """A skip without a reason names the filter."""
    with pytest.raises(PluginError, match="mute"):
        _select(ops=("relu",), dtype=("mute",))


def test_nothing_left_is_an_error() -> None:
    """An empty selection says what was asked."""
    with pytest.raises(UsageError, match="--suite fake --dtype"):
        _select(dtype=("mute",))


def test_a_file_of_which_nothing_can_be_read_is_named(tmp_path: Path) -> None:
    """The error names the file and what is wrong in it."""
    broken = tmp_path / "broken.txt"
    broken.write_text("Operator: aten.relu.default\ncnt: 1, ((T([4, 4, f32),), {})\n")
    with pytest.raises(UsageError, match=f"--suite-file {broken}: .*broken.txt:2:"):
        select(build_catalog(), SelectionSettings(suite_file=(str(broken),)))


def test_a_call_of_two_dtypes_samples_is_one_case() -> None:
    """The same call recorded for two dtypes is judged once, and is not skipped for the one that a filter refuses."""
    name = OperatorName.parse("relu.default")
    twins = tuple(
        make_case(name, (1,), (), (), dtype=dtype, origin="smoke") for dtype in ("float32", "float16")
    )

    class _Twins(_FakeSuite):
        def operators(self, request: SuiteRequest) -> Iterator[OperatorCases]:
            self.asked.append(request.dtypes)
            yield OperatorCases(operator=name, kind="value", cases=twins)

    catalog = _FakeCatalog()
    catalog.suites.known["fake"] = _Twins()
    assert {"relu.default": (1, [])} == _select(catalog)
    assert {"relu.default": (1, [])} == _select(catalog, dtype=("fp16",))
