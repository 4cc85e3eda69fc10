"""Filters on cases: what they keep, the reason that they give for the rest, and re-typing."""

from __future__ import annotations

from typing import Any

import pytest

from kagent_bench.config.schema import SelectionSettings
from kagent_bench.model.case import (
    Case,
    IntegerValues,
    LiteralValues,
    Source,
    StorageSpec,
    SymbolSpec,
    TensorSpec,
    UniformValues,
)
from kagent_bench.model.identity import make_case
from kagent_bench.model.names import OperatorName
from kagent_bench.model.selection import OperatorCases
from kagent_bench.suites.narrowing import largest, limited, narrow, sampled
from kagent_bench.suites.retype import retyped

NAME = OperatorName.parse("embedding.default")


def _case(numel: int, dtype: str = "float16", count: int = 1, model: str = "llama/decode") -> Case:
    view = TensorSpec(storage=0, shape=(numel,), stride=(1,))
    rows = StorageSpec(dtype=dtype, numel=numel, rule=UniformValues(low=-2.0, high=2.0))
    return make_case(
        NAME, (view,), (), (rows,), dtype=dtype, origin="trace", count=count, sources=(Source(model, count),)
    )


def _item(*cases: Case) -> OperatorCases:
    return OperatorCases(operator=NAME, kind="value", cases=cases)


@pytest.mark.parametrize(
    ("settings", "kept", "reason"),
    [
        ({"traced_model": ("llama*",)}, [1, 8, 64], "no call of the models llama*"),
        ({"min_count": 5}, [64, 512], "recorded less than 5 times"),
        ({"min_bytes": 128}, [64, 512], "less than 128 bytes of inputs"),
        ({"max_bytes": 128}, [1, 8, 64], "more than 128 bytes of inputs"),
    ],
)
def test_filters_keep_and_skip_with_a_reason(settings: dict[str, Any], kept: list[int], reason: str) -> None:
    """By model, count and size."""
    item = _item(_case(1), _case(8), _case(64, count=9), _case(512, count=5, model="vit/train"))

    found = narrow(item, SelectionSettings(**settings))

    assert kept == [case.storages[0].numel for case in found.cases]
    assert {reason} == {skip.reason for skip in found.skipped}
    assert 4 == len(found.cases) + len(found.skipped)


def test_the_parts_are_disjoint_and_everything() -> None:
    """What a generator sees, and what it never does."""
    item = _item(*(_case(n) for n in range(1, 60)))

    seen = narrow(item, SelectionSettings(split="development")).cases
    hidden = narrow(item, SelectionSettings(split="held_out")).cases

    assert {case.id for case in item.cases} == {case.id for case in (*seen, *hidden)}
    assert 59 == len(seen) + len(hidden)
    assert not any(case.held_out for case in seen)
    assert hidden


def test_the_largest_and_the_first() -> None:
    """By bytes, and by their order for each dtype."""
    item = _item(_case(1), _case(8), _case(64), _case(7, "float32"))

    assert [64, 7] == [c.storages[0].numel for c in largest(item, SelectionSettings(top_n=2)).cases]
    assert [1, 7] == [c.storages[0].numel for c in limited(item, 1).cases]
    assert "more than 1 cases of the operator and dtype" == limited(item, 1).skipped[0].reason


def test_a_sample_is_drawn_by_its_seed() -> None:
    """The same cases for the same seed, others for another, and so many of all operators together."""
    items = [_item(*(_case(n) for n in range(1, 30))), _item(*(_case(n, "float32") for n in range(1, 30)))]

    def drawn(seed: int) -> set[str]:
        found = sampled(items, SelectionSettings(sample=10, sample_seed=seed))
        return {case.id for item in found for case in item.cases}

    assert 10 == len(drawn(0))
    assert drawn(0) == drawn(0)
    assert drawn(0) != drawn(1)


def test_retyping_leaves_indices_and_other_dtypes_alone() -> None:
    """Storages and dtype arguments of the case's own dtype change, the identity with them."""
    rows = TensorSpec(storage=0, shape=(9,), stride=(1,))
    places = TensorSpec(storage=1, shape=(5,), stride=(1,))
    statistics = TensorSpec(storage=2, shape=(5,), stride=(1,))
    case = make_case(
        NAME,
        (rows, places, statistics, SymbolSpec(kind="dtype", name="float16")),
        (),
        (
            StorageSpec(dtype="float16", numel=9, rule=UniformValues(low=-2.0, high=2.0)),
            StorageSpec(dtype="int64", numel=5, rule=IntegerValues(low=0, high=8)),
            StorageSpec(dtype="float32", numel=5, rule=UniformValues(low=-2.0, high=2.0)),
        ),
        dtype="float16",
        origin="trace",
    )

    (changed,) = retyped(_item(case), "bf16").cases

    assert ["bfloat16", "int64", "float32"] == [storage.dtype for storage in changed.storages]
    assert SymbolSpec(kind="dtype", name="bfloat16") == changed.args[3]
    assert ("bfloat16", "trace:as_bfloat16") == (changed.dtype, changed.origin)
    assert changed.id != case.id


def test_cases_that_become_one_are_counted_together() -> None:
    """The same call in two dtypes is one in a third, with the calls of both."""
    (changed,) = retyped(_item(_case(8, count=2), _case(8, "float32", count=3)), "bf16").cases

    assert (5, (Source("llama/decode", 5),)) == (changed.count, changed.sources)


def test_what_cannot_be_retyped_is_skipped() -> None:
    """Integers have no other precision, and fixed values are those of their dtype."""
    view = TensorSpec(storage=0, shape=(2,), stride=(1,))
    literal = StorageSpec(dtype="float16", numel=2, rule=LiteralValues(data=b"\0\0\0<"))
    fixed = make_case(NAME, (view,), (), (literal,), dtype="float16", origin="direct")
    whole = make_case(NAME, (1,), (), (), dtype="int64", origin="direct")

    found = retyped(_item(fixed, whole), "fp32")

    assert () == found.cases
    assert [
        "its values are fixed in float16, and so not changed to float32",
        "int64 cannot be changed to float32",
    ] == [skip.reason for skip in found.skipped]
